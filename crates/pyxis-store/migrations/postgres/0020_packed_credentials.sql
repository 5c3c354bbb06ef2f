-- The credential, packed; `credential` is empty then. NULL in rows that are older than this, which keep it as it came:
-- to pack millions would take minutes.
ALTER TABLE stamp_credentials ADD COLUMN packed BYTEA;
