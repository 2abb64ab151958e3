"""Remote: questions, ends and failures of a session on your phone, and your answers back in."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="remote",
    about="answer sessions from your phone",
    package=__name__,
    settings={"remote": "settings:RemoteSettings"},
    slash=(
        FeatureCommand(
            "remote",
            "/remote [on|off|status]",
            "send this session's questions and results to your paired channels, and accept answers from them",
            "slash:remote",
        ),
    ),
    commands=(
        CliCommand(
            "remote",
            "cli:REMOTE",
            "quintet remote pair CHANNEL | list | revoke CHANNEL/ACCOUNT | test   answer sessions from your phone",
        ),
    ),
    checks=(FeatureCheck("wiring:channels_can_be_reached", kinds="wiring:KINDS"),),
    service="actor:open_remote",
    board="actor:board_rows",
    offers={
        "session": "actor:begin",
        "answer-pages": "answer_pages:open_pages",
        "remote-devices": "wiring:open_devices",
    },
)
