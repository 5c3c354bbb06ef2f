-- Messages about proposed tasks, with the columns of chat_messages. No buttons carry the nonce.
CREATE TABLE task_messages (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    platform TEXT NOT NULL,
    chat TEXT NOT NULL,
    nonce_hash TEXT NOT NULL UNIQUE,
    wanted TEXT NOT NULL,
    shown TEXT,
    message_ref TEXT,
    attempts BIGINT NOT NULL,
    next_at BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    recipient TEXT
);
CREATE INDEX task_messages_waiting ON task_messages (platform, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX task_messages_by_task ON task_messages (task_id);
CREATE INDEX task_messages_by_ref ON task_messages (platform, message_ref) WHERE message_ref IS NOT NULL;
CREATE INDEX task_messages_by_chat ON task_messages (platform, chat, id);
CREATE INDEX task_messages_in_trouble ON task_messages (workspace_id, platform, id) WHERE error IS NOT NULL;
CREATE INDEX task_messages_refused ON task_messages (platform, workspace_id, chat, id)
    WHERE error IS NOT NULL AND message_ref IS NULL AND next_at IS NULL;

-- Rooms and people that a task was announced to, with the columns of announcements.
CREATE TABLE task_announcements (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    at BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (task_id, channel, kind, recipient, at)
);

-- Proposals whose time to decide ends.
CREATE INDEX tasks_proposed_by_end ON tasks (expires_at) WHERE state = 'proposed';
