-- The words of the journal, in a file of their own that can be deleted at any time. The texts stay in the journal.

-- name: create
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE indexed (seq INTEGER NOT NULL, at TEXT NOT NULL); -- the newest event that is in it
INSERT INTO indexed VALUES (0, '');

-- name: create_lines
CREATE VIRTUAL TABLE temp.lines USING fts5(line, hit UNINDEXED, tokenize='unicode61 remove_diacritics 2')

-- name: indexed
SELECT seq, at FROM indexed

-- name: set_indexed
UPDATE indexed SET seq = ?, at = ?

-- name: add
INSERT INTO words (rowid, text) VALUES (?, ?)

-- name: count
SELECT count(*) FROM words WHERE words MATCH ?

-- name: newest
SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?

-- name: add_line
INSERT INTO lines (line, hit) VALUES (?, ?)

-- name: marked_lines
SELECT hit, highlight(lines, 0, char(2), char(3)) FROM temp.lines WHERE lines MATCH ? ORDER BY rank, rowid
