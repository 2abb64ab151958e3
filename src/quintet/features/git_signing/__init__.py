"""Signed commits: git and its hooks stay in the sandbox, and one signature is made outside, with approval."""

from quintet.features.feature import Feature

FEATURE = Feature(
    name="git_signing",
    about="commits that are signed with your key",
    package=__name__,
    settings={"git": "settings:GitSettings"},
    tools=("tools:signed_commit_tool",),
    service="signer:open_signer",
)
