-- Ids are TEXT, times are Unix milliseconds in BIGINT columns named *_at, JSON is TEXT.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Raised by triggers whenever configuration changes that a process may have cached.
CREATE TABLE generations (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO generations (name, value) VALUES ('configuration', 1);

-- Data keys, wrapped by the master key.
CREATE TABLE data_keys (
    number BIGINT NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    wrapped BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL,
    approval_timeout_secs BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    email TEXT NOT NULL,
    email_folded TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    disabled_at BIGINT,
    failed_sign_ins BIGINT NOT NULL,
    locked_until BIGINT,
    created_at BIGINT NOT NULL,
    last_sign_in_at BIGINT,
    UNIQUE (workspace_id, email_folded),
    UNIQUE (workspace_id, id)
);
CREATE INDEX users_by_email ON users (email_folded);

CREATE TABLE sign_in_links (
    token_hash TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX sign_in_links_by_user ON sign_in_links (workspace_id, user_id);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    csrf TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    user_agent TEXT,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
);
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
    allow_http BOOLEAN NOT NULL,
    options TEXT NOT NULL,
    sealed_secret BYTEA,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_used_at BIGINT,
    verified_at BIGINT,
    verified_status BIGINT,
    UNIQUE (workspace_id, name_folded),
    UNIQUE (workspace_id, id)
);

CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_hint TEXT NOT NULL,
    rate_limit_per_hour BIGINT,
    all_credentials BOOLEAN NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    UNIQUE (workspace_id, name_folded),
    UNIQUE (workspace_id, id)
);

-- The composite keys make a reference across workspaces impossible.
CREATE TABLE agent_credentials (
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, credential_id),
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agents (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX agent_credentials_by_credential ON agent_credentials (workspace_id, credential_id);

CREATE TABLE policies (
    credential_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    document TEXT NOT NULL,
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT NOT NULL,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_version BIGINT NOT NULL,
    agent_id TEXT,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    txn_id TEXT,
    created_by TEXT NOT NULL,
    created_by_email TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    max_uses BIGINT,
    uses BIGINT NOT NULL,
    last_used_at BIGINT,
    ended_at BIGINT,
    ended_reason TEXT
);
CREATE INDEX grants_live ON grants (workspace_id, credential_id, method, route) WHERE ended_at IS NULL;
CREATE INDEX grants_by_age ON grants (workspace_id, created_at, id);

CREATE TABLE approvals (
    txn_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    credential_version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    target_host TEXT NOT NULL,
    sealed_target BYTEA NOT NULL,
    rule TEXT NOT NULL,
    pattern TEXT,
    reason TEXT,
    digest TEXT NOT NULL,
    dedupe TEXT NOT NULL,
    body_bytes BIGINT NOT NULL,
    content_type TEXT,
    state TEXT NOT NULL,
    min_approvals BIGINT NOT NULL,
    passkey_required BOOLEAN NOT NULL,
    channel TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT,
    decided_by_email TEXT,
    deny_reason TEXT,
    withdrawn BOOLEAN NOT NULL,
    forward_state TEXT NOT NULL,
    claimed_by TEXT,
    claimed_until BIGINT,
    attempt_at BIGINT,
    finished_at BIGINT,
    upstream_status BIGINT,
    error TEXT,
    UNIQUE (workspace_id, txn_id)
);
CREATE UNIQUE INDEX approvals_pending_twin ON approvals (workspace_id, dedupe) WHERE state = 'pending';
CREATE INDEX approvals_pending_expiry ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_under_way ON approvals (forward_state) WHERE forward_state IN ('ready', 'sending');
CREATE INDEX approvals_by_age ON approvals (workspace_id, created_at, txn_id);

-- Apart from approvals, so that lists never read them.
CREATE TABLE approval_bodies (
    txn_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    sealed_request BYTEA NOT NULL,
    sealed_response BYTEA,
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
);

CREATE TABLE votes (
    txn_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    email TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    grant_seconds BIGINT,
    agent_only BOOLEAN NOT NULL,
    channel TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (txn_id, user_id),
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
);

CREATE TABLE nodes (
    node_id TEXT NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until_at BIGINT NOT NULL
);

CREATE TABLE idempotency (
    agent_id TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    txn_id TEXT,
    sealed_outcome BYTEA,
    node_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (agent_id, key_hash)
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

CREATE TABLE rate_windows (
    agent_id TEXT NOT NULL,
    window_start_at BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (agent_id, window_start_at)
);

CREATE TABLE scorers (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX scorers_by_workspace ON scorers (workspace_id, id);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    key_hint TEXT NOT NULL,
    tier BIGINT NOT NULL,
    can_read BOOLEAN NOT NULL,
    can_write BOOLEAN NOT NULL,
    can_read_history BOOLEAN NOT NULL,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

-- The chain: mac covers the row and the mac of the row before.
CREATE TABLE audit_records (
    seq BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    workspace_id TEXT,
    kind TEXT NOT NULL,
    ref_seq BIGINT,
    actor TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    credential TEXT,
    decision TEXT,
    method TEXT,
    host TEXT,
    txn_id TEXT,
    grant_id TEXT,
    status BIGINT,
    detail TEXT NOT NULL,
    mac BYTEA NOT NULL
);
-- Outcomes are found by what they refer to; leaving them out halves the cost of keeping this one.
CREATE INDEX audit_records_by_workspace ON audit_records (workspace_id, seq)
    WHERE workspace_id IS NOT NULL AND kind <> 'outcome';
CREATE INDEX audit_records_by_ref ON audit_records (ref_seq) WHERE ref_seq IS NOT NULL;

CREATE TABLE audit_head (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    mac BYTEA NOT NULL
);
INSERT INTO audit_head (id, seq, mac) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

CREATE TABLE audit_checkpoints (
    seq BIGINT NOT NULL PRIMARY KEY,
    mac BYTEA NOT NULL,
    signed_at BIGINT NOT NULL,
    signature BYTEA NOT NULL
);

-- A change that a process may have cached raises the generation, whoever makes it. What only records
-- use (last_used_at, verified_at and the like) does not.
CREATE FUNCTION raise_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE generations SET value = value + 1 WHERE name = 'configuration';
    RETURN NULL;
END
$$;
CREATE TRIGGER workspaces_generation AFTER INSERT OR DELETE OR UPDATE OF name, name_folded, mode, approval_timeout_secs ON workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER users_generation AFTER INSERT OR DELETE OR UPDATE OF email, email_folded, role, disabled_at ON users
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER agents_generation AFTER INSERT OR DELETE OR UPDATE OF name, name_folded, key_hash, rate_limit_per_hour, all_credentials, disabled_at ON agents
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER agent_credentials_generation AFTER INSERT OR DELETE OR UPDATE OF workspace_id, agent_id, credential_id ON agent_credentials
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER credentials_generation AFTER INSERT OR DELETE OR UPDATE OF name, name_folded, description, connector, api_base, auth, allowed_hosts, allow_http, options, sealed_secret, version ON credentials
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER policies_generation AFTER INSERT OR DELETE OR UPDATE OF workspace_id, document, version ON policies
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
