-- What is remembered of a project. Words follow by triggers, in the same transaction.

-- name: create
CREATE TABLE memories (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tier TEXT NOT NULL,
  text TEXT NOT NULL,
  source TEXT NOT NULL,
  at TEXT NOT NULL,
  evidence TEXT NOT NULL,
  held_by TEXT NOT NULL, -- the check, as JSON
  stale TEXT NOT NULL DEFAULT '',
  UNIQUE (tier, text)
);
CREATE VIRTUAL TABLE lexicon USING fts5(
  tier, text, content='memories', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER words_come AFTER INSERT ON memories BEGIN
  INSERT INTO lexicon (rowid, tier, text) VALUES (new.id, new.tier, new.text);
END;
CREATE TRIGGER words_go AFTER DELETE ON memories BEGIN
  INSERT INTO lexicon (lexicon, rowid, tier, text) VALUES ('delete', old.id, old.tier, old.text);
END;
CREATE TRIGGER words_change AFTER UPDATE OF text ON memories BEGIN
  INSERT INTO lexicon (lexicon, rowid, tier, text) VALUES ('delete', old.id, old.tier, old.text);
  INSERT INTO lexicon (rowid, tier, text) VALUES (new.id, new.tier, new.text);
END;
CREATE TABLE forgotten (tier TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (tier, text));
CREATE TABLE switch (off INTEGER NOT NULL);

-- name: all
SELECT id, tier, text, source, at, evidence, held_by, stale FROM memories WHERE ? IN ('', tier) ORDER BY id

-- name: one
SELECT id, tier, text, source, at, evidence, held_by, stale FROM memories WHERE id = ?

-- name: same
SELECT id FROM memories WHERE tier = ? AND text = ?

-- name: add
INSERT INTO memories (tier, text, source, at, evidence, held_by) VALUES (?, ?, ?, ?, ?, ?) RETURNING id

-- name: renew
UPDATE memories SET source = ?, at = ?, evidence = ?, held_by = ?, stale = '' WHERE id = ?

-- name: change
UPDATE memories SET text = ?, source = ?, at = ?, held_by = ?, stale = '' WHERE id = ?

-- name: hold_by
UPDATE memories SET held_by = ?, stale = '' WHERE id = ?

-- name: drop
DELETE FROM memories WHERE id = ?

-- name: drop_old
DELETE FROM memories WHERE tier = ?1 AND id IN (
  SELECT id FROM memories WHERE tier = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2
)

-- name: forget
INSERT OR IGNORE INTO forgotten (tier, text) VALUES (?, ?)

-- name: is_forgotten
SELECT 1 FROM forgotten WHERE tier = ? AND text = ?

-- name: remember_again
DELETE FROM forgotten WHERE tier = ? AND text = ?

-- name: mark
UPDATE memories SET stale = ? WHERE id = ?

-- name: search
SELECT id, tier, text, source, at, evidence, held_by, stale
FROM (SELECT rowid AS found, rank AS place FROM lexicon
      WHERE lexicon MATCH ? AND rank MATCH 'bm25(0.0, 1.0)' ORDER BY rank LIMIT ?)
JOIN memories ON memories.id = found
ORDER BY place, id DESC

-- name: is_off
SELECT 1 FROM switch WHERE off

-- name: turn
INSERT INTO switch (off) VALUES (?)

-- name: clear_switch
DELETE FROM switch

-- name: empty_lexicon
INSERT INTO lexicon (lexicon) VALUES ('rebuild')
