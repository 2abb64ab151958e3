"""Deploying: pages and apps, up on this machine, or at a target that the settings name."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="deploy",
    about="deploy pages and apps, on this machine or to your own target",
    package=__name__,
    named={"deploy": "settings:DeploySettings"},
    tools=("tools:deploy_tool",),
    service="local:open_deployments",
    board="local:board_rows",
)
