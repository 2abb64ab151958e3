"""What can be wrong with a shared database, made for real: found by its code, and the database left as it was."""

from urllib.parse import urlsplit

import pytest

from tests.postgres import Server
from tests.surfaces.program import Program

TABLES = "SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns ORDER BY 1"
ROWS = "SELECT max(version), (SELECT count(*) FROM projects), (SELECT count(*) FROM journal) FROM quintet_schema"
# What may be done to a database by hand, and the code of the finding.
SICK = {
    "STORE_OLDER": "DELETE FROM quintet_schema WHERE version = (SELECT max(version) FROM quintet_schema)",
    "STORE_FAILED": "ALTER TABLE sessions RENAME TO kept; CREATE FUNCTION archived() RETURNS SETOF kept "
    "LANGUAGE plpgsql AS $$ BEGIN RAISE 'the archive is not mounted'; END $$; "
    "CREATE VIEW sessions AS SELECT * FROM archived()",
}


def codes(quintet: Program, url: str) -> set[str]:
    return {one["code"] for one in quintet.run("doctor", "--json", QUINTET_DATABASE=url).json()} - {"SANDBOX_WEAK"}


@pytest.mark.parametrize("code", SICK)
def test_a_database_that_cannot_be_used_is_found_and_left_alone(
    quintet: Program, database: str, postgres: Server, code: str
) -> None:
    name = urlsplit(database).path[1:]
    quintet.run("-p", "/status", QUINTET_DATABASE=database).clean(0)
    assert codes(quintet, database) == set()
    postgres.execute(SICK[code], name)
    before = postgres.execute(TABLES, name), postgres.execute(ROWS, name)
    assert codes(quintet, database) == {code}
    fixed = quintet.run("doctor", "fix", QUINTET_DATABASE=database)
    assert fixed.code == 2 and "nothing can be fixed" in fixed.err, fixed
    assert (postgres.execute(TABLES, name), postgres.execute(ROWS, name)) == before
