-- Verification. One registry for the whole installation: its public endpoints ask for no key, so they
-- know no workspace. Addresses are 20 bytes (EVM) or 32 (Sui); action ids and nullifiers are numbers as 32
-- bytes, big-endian. A height is a block number of the row's network.

-- Where a network has no node to ask, its blocks are counted from genesis_at, one every block_ms. Nothing is
-- written at or below sealed_height any more: an answer for it was given.
CREATE TABLE block_clocks (
    network TEXT NOT NULL PRIMARY KEY,
    genesis_at INTEGER NOT NULL,
    block_ms INTEGER NOT NULL,
    sealed_height INTEGER NOT NULL
) STRICT;

-- Whose statements about a kind are believed: an Ed25519 key or an EVM address.
CREATE TABLE proof_issuers (
    kind TEXT NOT NULL,
    issuer TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, issuer)
) STRICT, WITHOUT ROWID;

-- A proof holds from from_height on and before until_height. Only an open end is ever changed, once.
CREATE TABLE proofs (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    network TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject BLOB NOT NULL,
    action_id BLOB NOT NULL,
    nullifier BLOB NOT NULL,
    issuer TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    from_height INTEGER NOT NULL,
    until_height INTEGER,
    ended TEXT,
    registered_at INTEGER NOT NULL
) STRICT;
CREATE INDEX proofs_by_subject ON proofs (network, kind, subject, action_id, from_height);
CREATE INDEX proofs_by_nullifier ON proofs (kind, action_id, nullifier);
CREATE INDEX proofs_by_address ON proofs (subject, id);
CREATE UNIQUE INDEX proofs_open ON proofs (network, kind, subject, action_id) WHERE until_height IS NULL;

-- One address for each nullifier, until expires_at.
CREATE TABLE nullifier_holders (
    kind TEXT NOT NULL,
    action_id BLOB NOT NULL,
    nullifier BLOB NOT NULL,
    subject BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (kind, action_id, nullifier)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocked_subjects (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    network TEXT NOT NULL,
    subject BLOB NOT NULL,
    from_height INTEGER NOT NULL,
    until_height INTEGER,
    reason TEXT NOT NULL,
    blocked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX blocked_by_subject ON blocked_subjects (subject, network, from_height);
CREATE UNIQUE INDEX blocked_open ON blocked_subjects (network, subject) WHERE until_height IS NULL;

-- Everything that ever happened to the above, in order. Rows are only added.
CREATE TABLE proof_log (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    change TEXT NOT NULL,
    network TEXT NOT NULL,
    height INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT,
    subject BLOB NOT NULL,
    action_id BLOB,
    nullifier BLOB,
    expires_at INTEGER,
    reason TEXT,
    made_by TEXT NOT NULL
) STRICT;
CREATE INDEX proof_log_by_time ON proof_log (at, kind);

-- The digest of each signed statement that took effect: the same one again changes nothing.
CREATE TABLE proof_statements (
    digest BLOB NOT NULL PRIMARY KEY,
    issuer TEXT NOT NULL,
    network TEXT NOT NULL,
    height INTEGER NOT NULL,
    proof_id INTEGER
) STRICT, WITHOUT ROWID;

-- Keys that sign attestations are derived from the master key by their number; the public half stands here.
CREATE TABLE attestation_keys (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scheme TEXT NOT NULL,
    public_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT;
CREATE UNIQUE INDEX attestation_keys_active ON attestation_keys (scheme) WHERE retired_at IS NULL;

-- How often a client without a key asked in a minute.
CREATE TABLE visits (
    client TEXT NOT NULL,
    window_start_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (client, window_start_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX visits_by_age ON visits (window_start_at);
