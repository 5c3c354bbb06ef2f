-- Long responses that an agent reads piece by piece, for a short time. Those of approved requests stay with their approval.
CREATE TABLE kept_responses (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    sealed_response BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    FOREIGN KEY (workspace_id, agent_id) REFERENCES agents (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX kept_responses_by_agent ON kept_responses (workspace_id, agent_id, created_at);
CREATE INDEX kept_responses_by_expiry ON kept_responses (expires_at);

-- Tools of MCP servers behind a credential. `seen` is the newest definition, `allowed` the one that a person read.
CREATE TABLE mcp_tools (
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    seen_fingerprint TEXT NOT NULL,
    seen_definition TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    offered BOOLEAN NOT NULL,
    allowed_fingerprint TEXT,
    allowed_definition TEXT,
    PRIMARY KEY (workspace_id, credential_id, name),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

CREATE TRIGGER mcp_tools_generation AFTER INSERT OR DELETE OR UPDATE OF mode, seen_fingerprint, offered, allowed_fingerprint ON mcp_tools
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
