"""Skills: folders of instructions, scripts and checks that a model or the user calls by name, evaled like code."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="skills",
    about="instructions by name, with their scripts and evals",
    package=__name__,
    settings={"skills": "settings:SkillSettings"},
    tools=("tools:use_skill", "tools:find_skills", "tools:check_skill_result"),
    slash=(
        FeatureCommand(
            "skills",
            "/skills [WORDS | show NAME | check [NAME] | drafts [show|accept|reject ID]]",
            "list the skills, or find some by words; /NAME uses one",
            "slash:skills",
        ),
    ),
    commands=(
        CliCommand(
            "skills",
            "cli:SKILLS",
            "quintet skills list | show NAME | check [PATH…] | new NAME | eval NAME | drafts   instructions by name",
        ),
    ),
    checks=(FeatureCheck("checks:skills_can_be_used", kinds="checks:KINDS"),),
    service="wiring:open_skills",
    offers={"skill-names": "wiring:names", "skill-usages": "wiring:usages", "skills-head": "wiring:head"},
)
