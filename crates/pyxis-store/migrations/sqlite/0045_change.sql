-- Receipts of erased addresses. The address stands here only as a keyed hash, as in the claims that it left.
CREATE TABLE erasures (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    address_hash BLOB NOT NULL,
    removed TEXT NOT NULL,
    kept TEXT NOT NULL,
    erased_at INTEGER NOT NULL,
    erased_by TEXT NOT NULL,
    audit_seq INTEGER NOT NULL,
    audit_mac TEXT NOT NULL
) STRICT;
CREATE INDEX erasures_by_address ON erasures (workspace_id, address_hash, erased_at);

-- Terms of a scorer that apply from a moment. A row with applied_at is in force, or was; kept then lists the weights
-- that holders keep after it.
CREATE TABLE scorer_changes (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    scorer_id INTEGER NOT NULL,
    effective_from INTEGER NOT NULL,
    threshold INTEGER,
    weights TEXT,
    keep_until_expiry INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    applied_at INTEGER,
    kept TEXT,
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX scorer_changes_by_scorer ON scorer_changes (scorer_id, effective_from);
-- Moment of the earliest change that is not applied yet.
ALTER TABLE scorers ADD COLUMN next_change_at INTEGER;

-- Earlier weights that credentials issued before a change keep until they expire.
CREATE TABLE kept_weights (
    scorer_id INTEGER NOT NULL,
    provider TEXT NOT NULL,
    issued_before INTEGER NOT NULL,
    workspace_id TEXT NOT NULL,
    weight INTEGER NOT NULL,
    PRIMARY KEY (scorer_id, provider, issued_before),
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
