-- Who is told of approvals, and how far each message has come.

-- Endpoints. While previous_until_at is in the future, the replaced secret signs as well.
CREATE TABLE webhooks (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    url TEXT NOT NULL,
    description TEXT NOT NULL,
    events TEXT NOT NULL,
    sealed_secret BLOB NOT NULL,
    sealed_previous BLOB,
    previous_until_at INTEGER,
    disabled_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (workspace_id, id)
) STRICT;

-- One event for one endpoint. next_at is when a node may take it: the time of the next attempt, or,
-- while an attempt is under way, when the node that makes it counts as lost.
CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    event TEXT NOT NULL,
    txn_id TEXT,
    sealed_body BLOB NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    resends INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    next_at INTEGER,
    last_attempt_at INTEGER,
    last_millis INTEGER,
    response_status INTEGER,
    response_excerpt TEXT,
    error TEXT,
    delivered_at INTEGER,
    FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhooks (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_by_webhook ON deliveries (workspace_id, webhook_id, id);
CREATE INDEX deliveries_by_age ON deliveries (workspace_id, id);
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE status <> 'pending';

-- A message about an approval in a chat. There is work while shown differs from wanted.
CREATE TABLE chat_messages (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    txn_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat TEXT NOT NULL,
    nonce_hash TEXT NOT NULL UNIQUE,
    wanted TEXT NOT NULL,
    shown TEXT,
    message_ref TEXT,
    attempts INTEGER NOT NULL,
    next_at INTEGER,
    error TEXT,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX chat_messages_waiting ON chat_messages (platform, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX chat_messages_by_txn ON chat_messages (workspace_id, txn_id);
CREATE INDEX chat_messages_by_ref ON chat_messages (platform, message_ref) WHERE message_ref IS NOT NULL;

-- Who is who on a chat platform. Only the dashboard begins a link.
CREATE TABLE chat_identities (
    workspace_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    external_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    label TEXT NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, platform, external_id),
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX chat_identities_by_user ON chat_identities (workspace_id, user_id);

CREATE TABLE chat_link_codes (
    code_hash TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX chat_link_codes_by_expiry ON chat_link_codes (expires_at);

-- Where a platform's messages of a workspace go unless a policy says otherwise.
CREATE TABLE chat_defaults (
    workspace_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat TEXT NOT NULL,
    PRIMARY KEY (workspace_id, platform),
    FOREIGN KEY (workspace_id) REFERENCES workspaces (id) ON DELETE CASCADE
) STRICT;

-- How far the updates of a platform were read.
CREATE TABLE chat_cursors (
    platform TEXT NOT NULL PRIMARY KEY,
    position TEXT NOT NULL
) STRICT;

-- Browsers that asked to be notified.
CREATE TABLE push_subscriptions (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    endpoint_hash TEXT NOT NULL,
    sealed_keys BLOB NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_success_at INTEGER,
    UNIQUE (workspace_id, endpoint_hash),
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (workspace_id, user_id);

CREATE TABLE push_messages (
    subscription_id TEXT NOT NULL,
    txn_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (subscription_id, txn_id),
    FOREIGN KEY (subscription_id) REFERENCES push_subscriptions (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX push_messages_waiting ON push_messages (next_at);

-- What notifications look like. A logo was decoded and written anew before it came here.
CREATE TABLE brands (
    workspace_id TEXT NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    display_name TEXT,
    accent TEXT,
    logo BLOB,
    logo_type TEXT,
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL
) STRICT;
