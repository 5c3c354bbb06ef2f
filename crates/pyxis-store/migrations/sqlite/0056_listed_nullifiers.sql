-- Nullifiers of the account behind a listed address, as a JSON list. Without any, its Stamp counts for the address alone.
ALTER TABLE listed_addresses ADD COLUMN nullifiers TEXT;
