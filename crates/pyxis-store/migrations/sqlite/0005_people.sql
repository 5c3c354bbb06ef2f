-- What a member may do with one credential. Managers need no row.
CREATE TABLE member_rights (
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    can_approve INTEGER NOT NULL,
    can_edit_policy INTEGER NOT NULL,
    PRIMARY KEY (user_id, credential_id),
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX member_rights_by_credential ON member_rights (workspace_id, credential_id);

-- Who made the link, and so has seen it; NULL is the command line.
ALTER TABLE sign_in_links ADD COLUMN made_by TEXT;
-- Whose link last opened the account after its first sign-in. Two such people count as one approver.
ALTER TABLE users ADD COLUMN opened_by TEXT;
ALTER TABLE users ADD COLUMN opened_at INTEGER;

CREATE TABLE access_tokens (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    can_approve INTEGER NOT NULL,
    can_admin INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX access_tokens_by_user ON access_tokens (workspace_id, user_id);

-- Policies that members proposed. Each waits for its maker's own passkey; one a person and credential.
CREATE TABLE staged_policies (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    document TEXT NOT NULL,
    base_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (credential_id, user_id),
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX staged_policies_by_workspace ON staged_policies (workspace_id, id);

-- The document holds the public key and what the authenticator said of itself, as JSON.
CREATE TABLE passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    credential TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    uses INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (workspace_id, user_id);

-- How often somebody was asked and answered is shown on their inbox.
CREATE INDEX votes_by_user ON votes (workspace_id, user_id, created_at);

-- Challenges that were handed out. Each is taken once, by deleting it.
CREATE TABLE ceremonies (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT,
    purpose TEXT NOT NULL,
    binding TEXT NOT NULL,
    state TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ceremonies_by_expiry ON ceremonies (expires_at);
