-- Long texts of events, each once: a journal row has an empty string where one belongs, and says which one it is.
CREATE TABLE contents (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  data   BLOB NOT NULL                      -- of the text, by zlib
);
ALTER TABLE journal ADD COLUMN contents TEXT; -- [place, id, …]: where in `data` which content belongs; NULL: nowhere
