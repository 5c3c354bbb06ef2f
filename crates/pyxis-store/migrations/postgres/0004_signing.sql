-- Access tokens that were fetched with a credential, and accounts that people connect.

-- What a token endpoint gave: sealed access token and rotated refresh token. Of one version of the
-- credential's secret; a row of another version counts as none.
CREATE TABLE oauth_tokens (
    credential_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential_version BIGINT NOT NULL,
    sealed_tokens BYTEA,
    expires_at BIGINT NOT NULL,
    problem TEXT,
    updated_at BIGINT NOT NULL,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

-- A person on the way to a provider's page of consent. The state itself is not stored.
CREATE TABLE oauth_connections (
    state_hash TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_version BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    sealed_verifier BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX oauth_connections_by_expiry ON oauth_connections (expires_at);
