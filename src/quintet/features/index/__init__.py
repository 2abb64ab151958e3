"""The index: what the project's files declare, use and say, found by name, by words and by rank; and a map of it."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck

FEATURE = Feature(
    name="index",
    about="symbols, references, search and a map of the project",
    package=__name__,
    settings={"index": "settings:IndexSettings"},
    tools=("tools:find_symbol", "tools:find_references", "tools:search_code", "tools:repo_map"),
    commands=(
        CliCommand(
            "index",
            "cli:INDEX",
            "quintet index status | build | search WORDS | symbols NAME | references NAME | map   what the project has",
        ),
    ),
    checks=(FeatureCheck("store:index_is_whole", "store:remove_damaged", "store:KINDS"),),
    service="service:open_index",
    offers={"recall": "retrieval:IndexRetrieval", "symbol-lines": "claimed_symbols:IndexedSymbols"},
    board="service:board_rows",
)
