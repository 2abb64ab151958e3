-- The library: documents the user added, the text of their pages, its words, and vectors where there is a model for them.

-- name: create
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL,
  path TEXT NOT NULL UNIQUE,
  format TEXT NOT NULL,
  pages INTEGER NOT NULL,
  words INTEGER NOT NULL,
  blank INTEGER NOT NULL,
  active INTEGER NOT NULL,
  added TEXT NOT NULL,
  digest TEXT NOT NULL
);
CREATE TABLE pages (
  id INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents(id),
  page INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE UNIQUE INDEX pages_by_document ON pages (document, page);
CREATE VIRTUAL TABLE lexicon USING fts5(
  text, content='pages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TABLE vectors (
  page INTEGER PRIMARY KEY REFERENCES pages(id),
  model TEXT NOT NULL,
  signs BLOB NOT NULL, -- one bit a number: whether it is above zero
  numbers BLOB NOT NULL -- 32-bit floats
);

-- name: documents
SELECT id, title, path, format, pages, words, blank, active, added, digest FROM documents ORDER BY id

-- name: add_document
INSERT INTO documents (title, path, format, pages, words, blank, active, added, digest)
VALUES (?, ?, ?, 0, 0, 0, ?, ?, ?) RETURNING id

-- name: change_document
UPDATE documents SET title = ?, format = ?, added = ?, digest = ? WHERE id = ?

-- name: count_pages
UPDATE documents SET pages = ?, words = ?, blank = ? WHERE id = ?

-- name: set_active
UPDATE documents SET active = ? WHERE id = ?

-- name: add_page
INSERT INTO pages (document, page, text) VALUES (?, ?, ?) RETURNING id

-- name: add_words
INSERT INTO lexicon (rowid, text) VALUES (?, ?)

-- name: empty_lexicon
INSERT INTO lexicon (lexicon) VALUES ('delete-all')

-- name: fill_lexicon
INSERT INTO lexicon (rowid, text) SELECT id, text FROM pages WHERE text <> ''

-- name: drop_words
INSERT INTO lexicon (lexicon, rowid, text) SELECT 'delete', id, text FROM pages WHERE document = ? AND text <> ''

-- name: drop_vectors
DELETE FROM vectors WHERE page IN (SELECT id FROM pages WHERE document = ?)

-- name: drop_pages
DELETE FROM pages WHERE document = ?

-- name: drop_document
DELETE FROM documents WHERE id = ?

-- name: page
SELECT text FROM pages WHERE document = ? AND page = ?

-- name: search
SELECT lexicon.rowid FROM lexicon
JOIN pages ON pages.id = lexicon.rowid
JOIN documents ON documents.id = pages.document
WHERE lexicon MATCH ? AND documents.active AND ? IN ('', documents.format)
ORDER BY lexicon.rank LIMIT ?

-- name: snippet
SELECT snippet(lexicon, 0, char(2), char(3), '…', ?) FROM lexicon WHERE lexicon MATCH ? AND rowid = ?

-- name: place
SELECT documents.id, documents.title, pages.page, pages.text
FROM pages JOIN documents ON documents.id = pages.document WHERE pages.id = ?

-- name: unvectored
SELECT pages.id, pages.text FROM pages LEFT JOIN vectors ON vectors.page = pages.id AND vectors.model = ?
WHERE vectors.page IS NULL AND pages.text <> '' ORDER BY pages.id LIMIT ?

-- name: add_vector
INSERT OR REPLACE INTO vectors (page, model, signs, numbers) VALUES (?, ?, ?, ?)

-- name: signs
SELECT vectors.page, vectors.signs FROM vectors
JOIN pages ON pages.id = vectors.page
JOIN documents ON documents.id = pages.document
WHERE vectors.model = ? AND documents.active AND ? IN ('', documents.format)

-- name: numbers
SELECT numbers FROM vectors WHERE page = ?

-- name: count_vectors
SELECT count(*) FROM vectors WHERE model = ?

-- name: to_vector
SELECT count(*) FROM pages WHERE text <> ''
