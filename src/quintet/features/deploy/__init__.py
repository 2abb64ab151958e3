"""Deploying: pages and apps, up on this machine, or at a target that the settings name."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="deploy",
    about="put pages and apps up, here or at a target of yours",
    package=__name__,
    named={"deploy": "settings:DeploySettings"},
    tools=("tools:deploy_tool",),
    service="local:open_deployments",
    board="local:board_rows",
)
