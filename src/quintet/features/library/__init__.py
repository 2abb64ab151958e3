"""The library: documents the user added, searched page by page, and what an answer may cite of them."""

from quintet.features.feature import CliCommand, Feature, FeatureCheck

FEATURE = Feature(
    name="library",
    about="documents to search",
    package=__name__,
    settings={"library": "settings:LibrarySettings"},
    tools=("tools:librarian", "tools:librarian_search"),
    commands=(
        CliCommand(
            "library",
            "cli:LIBRARY",
            "quintet library add PATH… | list | search QUERY | show DOC | remove DOC   search your own documents",
        ),
    ),
    checks=(FeatureCheck("store:store_is_whole", "store:mend_index", "store:KINDS"),),
    service="library:open_library",
)
