The index of a project, in statements by name. What is in it can always be made again from the project's files.

-- name: create
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  time INTEGER NOT NULL,       -- nanoseconds; 0: look at the content again
  digest BLOB NOT NULL,
  language TEXT NOT NULL,
  lines INTEGER NOT NULL,
  extent TEXT NOT NULL,        -- whole, words or name
  broken INTEGER NOT NULL,
  uses BLOB NOT NULL,          -- the identifiers in it, 4 bytes each, sorted
  rank REAL NOT NULL DEFAULT 0 -- how much the other files use it
);
CREATE TABLE symbols (
  file INTEGER NOT NULL,
  line INTEGER NOT NULL,
  last INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  container TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX symbols_by_name ON symbols (name COLLATE NOCASE);
CREATE INDEX symbols_by_file ON symbols (file);
CREATE TABLE links (file INTEGER PRIMARY KEY, others BLOB NOT NULL); -- the files whose symbols it uses most
CREATE VIRTUAL TABLE terms USING fts5 (
  path, names, often, words,
  content = '', contentless_delete = 1, detail = column, tokenize = "unicode61 remove_diacritics 0 tokenchars '_'"
);
INSERT INTO terms (terms, rank) VALUES ('hashsize', 33554432);

-- name: known
SELECT path, id, size, time, digest FROM files

-- name: digest
SELECT digest FROM files WHERE path = ?

-- name: add_file
INSERT INTO files (path, size, time, digest, language, lines, extent, broken, uses)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id

-- name: change_file
UPDATE files SET size = ?, time = ?, digest = ?, language = ?, lines = ?, extent = ?, broken = ?, uses = ? WHERE id = ?

-- name: stamp_file
UPDATE files SET size = ?, time = ? WHERE id = ?

-- name: drop_file
DELETE FROM files WHERE id = ?

-- name: drop_symbols
DELETE FROM symbols WHERE file = ?

-- name: drop_links
DELETE FROM links WHERE file = ?

-- name: drop_words
DELETE FROM terms WHERE rowid = ?

-- name: add_symbol
INSERT INTO symbols (file, name, kind, container, line, last, text) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: add_words
INSERT INTO terms (rowid, path, names, often, words) VALUES (?, ?, ?, ?, ?)

-- name: about
SELECT value FROM about WHERE key = ?

-- name: set_about
INSERT INTO about (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: matching
SELECT rowid FROM terms WHERE terms MATCH ?

-- name: with_word
SELECT f.path, f.rank FROM terms JOIN files f ON f.id = terms.rowid WHERE terms MATCH ?
ORDER BY f.rank DESC, f.path LIMIT ?

-- name: count_with_word
SELECT count(*) FROM terms WHERE terms MATCH ?

-- name: symbols_named
SELECT s.name, s.kind, s.container, f.path, s.line, s.last, f.language, s.text, f.rank
FROM symbols s JOIN files f ON f.id = s.file WHERE s.name = ? COLLATE NOCASE LIMIT ?

-- name: symbols_beginning
SELECT s.name, s.kind, s.container, f.path, s.line, s.last, f.language, s.text, f.rank
FROM symbols s JOIN files f ON f.id = s.file
WHERE s.name >= ?1 COLLATE NOCASE AND s.name < ?1 || char(1114109) COLLATE NOCASE LIMIT ?2

-- name: symbols_with_parts
SELECT s.name, s.kind, s.container, f.path, s.line, s.last, f.language, s.text, f.rank
FROM (SELECT rowid FROM terms WHERE terms MATCH ? LIMIT ?) w
JOIN symbols s ON s.file = w.rowid JOIN files f ON f.id = s.file WHERE s.name LIKE ? LIMIT ?

-- name: outline
SELECT s.name, s.kind, s.container, f.path, s.line, s.last, f.language, s.text, f.rank
FROM files f JOIN symbols s ON s.file = f.id WHERE f.path = ? ORDER BY s.line

-- name: declarations
SELECT file, name FROM symbols WHERE kind NOT IN ('field', 'variable') AND length(name) > 2

-- name: uses
SELECT id, uses FROM files WHERE uses <> x''

-- name: add_links
INSERT OR REPLACE INTO links (file, others) VALUES (?, ?)

-- name: links
SELECT others FROM links WHERE file = ?

-- name: clear_links
DELETE FROM links

-- name: set_rank
UPDATE files SET rank = ? WHERE id = ?

-- name: clear_ranks
UPDATE files SET rank = 0 WHERE rank <> 0

-- name: ranked
SELECT id, path, rank, lines FROM files WHERE language <> '' ORDER BY rank DESC, path LIMIT ?

-- name: file
SELECT id, path, rank, lines FROM files WHERE path = ?

-- name: files_by_id
SELECT path, rank, lines FROM files WHERE id = ?

-- name: status
SELECT count(*), coalesce(sum(lines), 0), coalesce(sum(size), 0), coalesce(sum(extent <> 'whole'), 0),
  coalesce(sum(broken), 0) FROM files

-- name: count_files
SELECT count(*) FROM files

-- name: count_symbols
SELECT count(*) FROM symbols

-- name: languages
SELECT language, count(*) AS n FROM files WHERE language <> '' GROUP BY language ORDER BY n DESC, language
