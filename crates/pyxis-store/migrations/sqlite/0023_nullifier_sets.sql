-- Nullifiers that a credential named together are one account: a set. In each scorer, claims on any of them are held
-- under the set's name, which is one of them. A nullifier without a row is a set of its own.
CREATE TABLE nullifier_sets (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    size INTEGER NOT NULL
) STRICT;
-- nullifier_hash is a function of the program (stamps/nullifiers.rs).
CREATE TABLE tied_nullifiers (
    nullifier_hash BLOB NOT NULL PRIMARY KEY,
    set_id INTEGER NOT NULL REFERENCES nullifier_sets (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tied_nullifiers_by_set ON tied_nullifiers (set_id);
-- Start of the holder's possession. NULL in older claims, which count as older than all others.
ALTER TABLE claims ADD COLUMN claimed_at INTEGER;
-- The program reads the sets of the Stamps that are stored already, then removes this row (nullifier_sets.rs).
INSERT INTO meta (key, value) VALUES ('nullifier_sets_unread', '0');
