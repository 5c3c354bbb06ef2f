-- Keys that sign receipts. Private halves are derived from the master key by number; the public half stands here. A key
-- signs until the next one is added.
CREATE TABLE receipt_keys (
    number BIGINT NOT NULL PRIMARY KEY,
    public_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    withdrawn_at BIGINT
);

-- Hashes of complete subtrees of the tree over all audit records. Level 1 covers 256 records, level 2 65536, level 3
-- 16777216. They are computed from the records when a receipt needs them.
CREATE TABLE audit_tiles (
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    seal TEXT NOT NULL,
    PRIMARY KEY (level, number)
);

CREATE INDEX audit_records_by_txn ON audit_records (txn_id) WHERE txn_id IS NOT NULL;
