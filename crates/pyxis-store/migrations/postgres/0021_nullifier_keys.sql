-- Who has a nullifier is found by a number that stands for it, and which Stamp that is: a sixth of the bytes. The number is that of stamps/nullifiers.rs.
-- First what waits for everybody who reads Stamps: they hold them before they look for nullifiers.
-- The few Stamps of an address are quickly put in their order.
DROP INDEX stamps_by_age;
CREATE TABLE nullifier_keys (
    nullifier_key BIGINT NOT NULL,
    stamp_id BIGINT NOT NULL
);
INSERT INTO nullifier_keys
    SELECT DISTINCT ('x' || encode(substr(sha256(convert_to(n.workspace_id || n.nullifier, 'UTF8')), 1, 6), 'hex'))::bit(48)::bigint - 140737488355328, s.id
    FROM stamp_nullifiers n JOIN stamps s USING (workspace_id, address, provider);
ALTER TABLE nullifier_keys ADD PRIMARY KEY (nullifier_key, stamp_id);
DROP TABLE stamp_nullifiers;
ALTER TABLE nullifier_keys RENAME TO stamp_nullifiers;
ALTER INDEX nullifier_keys_pkey RENAME TO stamp_nullifiers_pkey;
ANALYZE stamp_nullifiers;
