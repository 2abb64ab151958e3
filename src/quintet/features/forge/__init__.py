"""The forge that the project's pull requests are on: GitHub, or a GitHub Enterprise."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="forge",
    about="pull requests, checks and repositories on GitHub",
    package=__name__,
    settings={"forge": "settings:ForgeSettings"},
    tools=(
        "tools:git_view_pr",
        "tools:git_create_pr",
        "tools:git_update_pr_description",
        "tools:git_pr_checks",
        "tools:git_ci_job_logs",
        "tools:git_comment_on_pr",
        "tools:list_repos",
    ),
    parts={"forge token": "parts:token"},
    checks=(FeatureCheck("parts:named_token_is_set", kinds="parts:KINDS"),),
    service="github:open_forge",
    subjects="repository:open_subjects",
)
