-- Publishable keys stand in pages: an api_keys row without any permission, the one scorer, and the pages' origins.
CREATE TABLE publishable_keys (
    api_key_id TEXT NOT NULL PRIMARY KEY REFERENCES api_keys (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    scorer_id BIGINT NOT NULL
);
CREATE INDEX publishable_keys_by_workspace ON publishable_keys (workspace_id);

CREATE TABLE publishable_origins (
    origin TEXT NOT NULL,
    api_key_id TEXT NOT NULL REFERENCES publishable_keys (api_key_id),
    PRIMARY KEY (origin, api_key_id)
);
CREATE INDEX publishable_origins_by_key ON publishable_origins (api_key_id);

-- Nonces of sign-ins with a wallet. The row of a nonce is deleted when it is used.
CREATE TABLE widget_nonces (
    nonce_hash TEXT NOT NULL PRIMARY KEY,
    api_key_id TEXT NOT NULL REFERENCES publishable_keys (api_key_id),
    origin TEXT NOT NULL,
    address BYTEA NOT NULL,
    chain_id BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX widget_nonces_by_expiry ON widget_nonces (expires_at);

CREATE TABLE widget_sessions (
    token_hash TEXT NOT NULL PRIMARY KEY,
    api_key_id TEXT NOT NULL REFERENCES publishable_keys (api_key_id),
    scorer_id BIGINT NOT NULL,
    origin TEXT NOT NULL,
    address BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX widget_sessions_by_expiry ON widget_sessions (expires_at);
