-- Programs that registered themselves (RFC 7591). They belong to no workspace until a person connects one.
CREATE TABLE connection_clients (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT,
    redirect_uris TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX connection_clients_by_expiry ON connection_clients (expires_at);

-- Consents of people that are still to be exchanged for tokens. Used codes are kept for a while, to notice a replay.
CREATE TABLE authorization_codes (
    code_hash TEXT NOT NULL PRIMARY KEY,
    connection_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    allowed_by TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agents (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX authorization_codes_by_agent ON authorization_codes (workspace_id, agent_id);
CREATE INDEX authorization_codes_by_expiry ON authorization_codes (expires_at);

-- Programs that act as an agent. Each row is one consent, and one family of tokens.
CREATE TABLE agent_connections (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT NOT NULL,
    destination TEXT NOT NULL,
    allowed_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    UNIQUE (workspace_id, id),
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agents (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX agent_connections_by_agent ON agent_connections (workspace_id, agent_id);
CREATE INDEX agent_connections_by_client ON agent_connections (client_id);

-- Access tokens, and refresh tokens with the time of their one use.
CREATE TABLE connection_tokens (
    token_hash TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    is_refresh BOOLEAN NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    FOREIGN KEY (workspace_id, connection_id) REFERENCES agent_connections (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX connection_tokens_by_connection ON connection_tokens (workspace_id, connection_id);
CREATE INDEX connection_tokens_by_expiry ON connection_tokens (expires_at);
