-- Keys by which a workspace signs Stamps of its own. Private halves are derived from the master key by workspace and
-- number; the issuer that stands here is the public half.
CREATE TABLE stamp_keys (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    number INTEGER NOT NULL,
    did TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, number)
) STRICT, WITHOUT ROWID;

-- Stamps that the workspace issues by a rule of its own: a list of addresses, or something on a chain.
CREATE TABLE own_stamps (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    provider TEXT NOT NULL,
    kind TEXT NOT NULL,
    description TEXT NOT NULL,
    valid_days INTEGER NOT NULL,
    settings TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, provider)
) STRICT, WITHOUT ROWID;

-- The addresses of allow lists.
CREATE TABLE listed_addresses (
    workspace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    address BLOB NOT NULL,
    listed_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, provider, address)
) STRICT, WITHOUT ROWID;

-- Stamps issued by such a rule, and when each is checked again. A check moves check_at first.
CREATE TABLE issued_stamps (
    workspace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    address BLOB NOT NULL,
    digest BLOB NOT NULL,
    items TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    check_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, provider, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX issued_stamps_by_check ON issued_stamps (check_at);
