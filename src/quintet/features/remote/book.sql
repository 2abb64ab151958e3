-- What remote keeps, for all sessions of the user: one file, in their own state folder.
CREATE TABLE IF NOT EXISTS accounts (
  channel TEXT NOT NULL, account TEXT NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL, paired TEXT NOT NULL,
  PRIMARY KEY (channel, account)
);
-- A pairing that waits; of its code only a digest.
CREATE TABLE IF NOT EXISTS codes (
  channel TEXT PRIMARY KEY, digest TEXT NOT NULL, expires REAL NOT NULL, address TEXT NOT NULL, wrong TEXT NOT NULL
);
-- Where the next look at a channel begins: written together with what the last one brought.
CREATE TABLE IF NOT EXISTS positions (channel TEXT PRIMARY KEY, since TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen (number INTEGER PRIMARY KEY, channel TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (channel, id));
-- Texts that were heard, until their session has them in its inbox.
CREATE TABLE IF NOT EXISTS inbound (id TEXT PRIMARY KEY, session TEXT NOT NULL, row TEXT NOT NULL);
-- What messages were about, so that a reply finds its question.
CREATE TABLE IF NOT EXISTS sent (
  number INTEGER PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, message TEXT NOT NULL,
  session TEXT NOT NULL, question TEXT NOT NULL, UNIQUE (channel, account, message)
);
-- Where, among the messages of an account, a session that is on began: what was written before is not for it.
CREATE TABLE IF NOT EXISTS begun (
  session TEXT NOT NULL, channel TEXT NOT NULL, account TEXT NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (session, channel, account)
);
-- Sessions that are on; a number is never given twice.
CREATE TABLE IF NOT EXISTS sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL UNIQUE, project TEXT NOT NULL, pid INTEGER NOT NULL,
  identity TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS links (id TEXT PRIMARY KEY, session TEXT NOT NULL, question TEXT NOT NULL, link TEXT NOT NULL, used TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
