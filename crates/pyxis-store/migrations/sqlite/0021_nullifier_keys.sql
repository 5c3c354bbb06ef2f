-- Who has a nullifier is found by a number that stands for it, and which Stamp that is: a sixth of the bytes. `nullifier_key` is a function of the program (stamps/nullifiers.rs).
CREATE TABLE nullifier_keys (
    nullifier_key INTEGER NOT NULL,
    stamp_id INTEGER NOT NULL,
    PRIMARY KEY (nullifier_key, stamp_id)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO nullifier_keys
    SELECT nullifier_key(n.workspace_id, n.nullifier), s.id
    FROM stamp_nullifiers n JOIN stamps s USING (workspace_id, address, provider)
    WHERE nullifier_key(n.workspace_id, n.nullifier) IS NOT NULL
    ORDER BY 1, 2;
DROP TABLE stamp_nullifiers;
ALTER TABLE nullifier_keys RENAME TO stamp_nullifiers;
-- The few Stamps of an address are quickly put in their order.
DROP INDEX stamps_by_age;
