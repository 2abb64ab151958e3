"""The library: documents the user added, searched page by page, and what an answer may cite of them."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="library",
    about="documents to search",
    package=__name__,
    settings={"library": "settings:LibrarySettings"},
    tools=("tools:librarian", "tools:librarian_search"),
    commands={"library": "cli:LIBRARY"},
    usage=("quintet library add PATH… | list | search QUERY | show DOC | remove DOC   documents to look things up in",),
    checks=(FeatureCheck("store:store_is_whole", fix="store:mend_index"),),
    service="library:open_library",
)
