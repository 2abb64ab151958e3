"""Deploying: pages and apps, up on this machine, or at a target that the settings name."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="deploy",
    about="deploy pages and apps, on this machine or to your own target",
    package=__name__,
    named={"deploy": "settings:DeploySettings"},
    tools=("tools:deploy_tool",),
    checks=(FeatureCheck("checks:targets_can_be_reached", kinds="checks:KINDS"),),
    service="local:open_deployments",
    board="local:board_rows",
)
