-- Ids are TEXT, times are Unix milliseconds in INTEGER columns named *_at, JSON is TEXT.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Raised by triggers whenever configuration changes that a process may have cached.
CREATE TABLE generations (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
INSERT INTO generations (name, value) VALUES ('configuration', 1);

-- Data keys, wrapped by the master key.
CREATE TABLE data_keys (
    number INTEGER NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL,
    approval_timeout_secs INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    email TEXT NOT NULL,
    email_folded TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    disabled_at INTEGER,
    failed_sign_ins INTEGER NOT NULL,
    locked_until INTEGER,
    created_at INTEGER NOT NULL,
    last_sign_in_at INTEGER,
    UNIQUE (workspace_id, email_folded),
    UNIQUE (workspace_id, id)
) STRICT;
CREATE INDEX users_by_email ON users (email_folded);

CREATE TABLE sign_in_links (
    token_hash TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX sign_in_links_by_user ON sign_in_links (workspace_id, user_id);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    csrf TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    user_agent TEXT,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX sessions_by_user ON sessions (workspace_id, user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE credentials (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    description TEXT NOT NULL,
    connector TEXT NOT NULL,
    api_base TEXT,
    auth TEXT,
    allowed_hosts TEXT NOT NULL,
    allow_http INTEGER NOT NULL,
    options TEXT NOT NULL,
    sealed_secret BLOB,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_used_at INTEGER,
    verified_at INTEGER,
    verified_status INTEGER,
    UNIQUE (workspace_id, name_folded),
    UNIQUE (workspace_id, id)
) STRICT;

CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_hint TEXT NOT NULL,
    rate_limit_per_hour INTEGER,
    all_credentials INTEGER NOT NULL,
    disabled_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    UNIQUE (workspace_id, name_folded),
    UNIQUE (workspace_id, id)
) STRICT;

-- The composite keys make a reference across workspaces impossible.
CREATE TABLE agent_credentials (
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, credential_id),
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agents (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_credentials_by_credential ON agent_credentials (workspace_id, credential_id);

CREATE TABLE policies (
    credential_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    document TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_version INTEGER NOT NULL,
    agent_id TEXT,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    txn_id TEXT,
    created_by TEXT NOT NULL,
    created_by_email TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    max_uses INTEGER,
    uses INTEGER NOT NULL,
    last_used_at INTEGER,
    ended_at INTEGER,
    ended_reason TEXT
) STRICT;
CREATE INDEX grants_live ON grants (workspace_id, credential_id, method, route) WHERE ended_at IS NULL;
CREATE INDEX grants_by_age ON grants (workspace_id, created_at, id);

CREATE TABLE approvals (
    txn_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    credential_version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    target_host TEXT NOT NULL,
    sealed_target BLOB NOT NULL,
    rule TEXT NOT NULL,
    pattern TEXT,
    reason TEXT,
    digest TEXT NOT NULL,
    dedupe TEXT NOT NULL,
    body_bytes INTEGER NOT NULL,
    content_type TEXT,
    state TEXT NOT NULL,
    min_approvals INTEGER NOT NULL,
    passkey_required INTEGER NOT NULL,
    channel TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT,
    decided_by_email TEXT,
    deny_reason TEXT,
    withdrawn INTEGER NOT NULL,
    forward_state TEXT NOT NULL,
    claimed_by TEXT,
    claimed_until INTEGER,
    attempt_at INTEGER,
    finished_at INTEGER,
    upstream_status INTEGER,
    error TEXT,
    UNIQUE (workspace_id, txn_id)
) STRICT;
CREATE UNIQUE INDEX approvals_pending_twin ON approvals (workspace_id, dedupe) WHERE state = 'pending';
CREATE INDEX approvals_pending_expiry ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_under_way ON approvals (forward_state) WHERE forward_state IN ('ready', 'sending');
CREATE INDEX approvals_by_age ON approvals (workspace_id, created_at, txn_id);

-- Apart from approvals, so that lists never read them.
CREATE TABLE approval_bodies (
    txn_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    sealed_request BLOB NOT NULL,
    sealed_response BLOB,
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
) STRICT;

CREATE TABLE votes (
    txn_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    email TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    grant_seconds INTEGER,
    agent_only INTEGER NOT NULL,
    channel TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (txn_id, user_id),
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
) STRICT;

CREATE TABLE nodes (
    node_id TEXT NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
    agent_id TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    txn_id TEXT,
    sealed_outcome BLOB,
    node_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, key_hash)
) STRICT;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

CREATE TABLE rate_windows (
    agent_id TEXT NOT NULL,
    window_start_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (agent_id, window_start_at)
) STRICT, WITHOUT ROWID;

CREATE TABLE scorers (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX scorers_by_workspace ON scorers (workspace_id, id);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_hint TEXT NOT NULL,
    tier INTEGER NOT NULL,
    can_read INTEGER NOT NULL,
    can_write INTEGER NOT NULL,
    can_read_history INTEGER NOT NULL,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

-- The chain: mac covers the row and the mac of the row before.
CREATE TABLE audit_records (
    seq INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    workspace_id TEXT,
    kind TEXT NOT NULL,
    ref_seq INTEGER,
    actor TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    credential TEXT,
    decision TEXT,
    method TEXT,
    host TEXT,
    txn_id TEXT,
    grant_id TEXT,
    status INTEGER,
    detail TEXT NOT NULL,
    mac BLOB NOT NULL
) STRICT;
-- Outcomes are found by what they refer to; leaving them out halves the cost of keeping this one.
CREATE INDEX audit_records_by_workspace ON audit_records (workspace_id, seq)
    WHERE workspace_id IS NOT NULL AND kind <> 'outcome';
CREATE INDEX audit_records_by_ref ON audit_records (ref_seq) WHERE ref_seq IS NOT NULL;

CREATE TABLE audit_head (
    id INTEGER NOT NULL PRIMARY KEY,
    seq INTEGER NOT NULL,
    mac BLOB NOT NULL
) STRICT;
INSERT INTO audit_head (id, seq, mac) VALUES (1, 0, zeroblob(32));

CREATE TABLE audit_checkpoints (
    seq INTEGER NOT NULL PRIMARY KEY,
    mac BLOB NOT NULL,
    signed_at INTEGER NOT NULL,
    signature BLOB NOT NULL
) STRICT;

-- A change that a process may have cached raises the generation, whoever makes it. What only records
-- use (last_used_at, verified_at and the like) does not.
CREATE TRIGGER workspaces_insert_generation AFTER INSERT ON workspaces BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER workspaces_delete_generation AFTER DELETE ON workspaces BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER workspaces_update_generation AFTER UPDATE OF name, name_folded, mode, approval_timeout_secs ON workspaces BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER users_insert_generation AFTER INSERT ON users BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER users_delete_generation AFTER DELETE ON users BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER users_update_generation AFTER UPDATE OF email, email_folded, role, disabled_at ON users BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agents_insert_generation AFTER INSERT ON agents BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agents_delete_generation AFTER DELETE ON agents BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agents_update_generation AFTER UPDATE OF name, name_folded, key_hash, rate_limit_per_hour, all_credentials, disabled_at ON agents BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agent_credentials_insert_generation AFTER INSERT ON agent_credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agent_credentials_delete_generation AFTER DELETE ON agent_credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER agent_credentials_update_generation AFTER UPDATE OF workspace_id, agent_id, credential_id ON agent_credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER credentials_insert_generation AFTER INSERT ON credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER credentials_delete_generation AFTER DELETE ON credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER credentials_update_generation AFTER UPDATE OF name, name_folded, description, connector, api_base, auth, allowed_hosts, allow_http, options, sealed_secret, version ON credentials BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER policies_insert_generation AFTER INSERT ON policies BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER policies_delete_generation AFTER DELETE ON policies BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
CREATE TRIGGER policies_update_generation AFTER UPDATE OF workspace_id, document, version ON policies BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
END;
