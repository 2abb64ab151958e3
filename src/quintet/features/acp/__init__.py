"""Quintet as an ACP agent: the same sessions in an editor, over stdin and stdout."""

from quintet.features.feature import CliCommand, Feature

FEATURE = Feature(
    name="acp",
    about="sessions in your editor",
    package=__name__,
    commands=(
        CliCommand(
            "acp", "cli:acp", "quintet acp                 sessions in your editor: an ACP agent on stdin and stdout"
        ),
    ),
)
