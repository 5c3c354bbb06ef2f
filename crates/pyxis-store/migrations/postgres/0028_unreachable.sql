-- Messages that a platform refused: which chats can no longer be reached.
CREATE INDEX chat_messages_refused ON chat_messages (platform, workspace_id, chat, id)
    WHERE error IS NOT NULL AND message_ref IS NULL AND next_at IS NULL;
CREATE INDEX chat_messages_by_chat ON chat_messages (platform, chat, id);

-- Why the push service of a browser refuses messages, and since when; nothing while it takes them.
ALTER TABLE push_subscriptions ADD COLUMN refused_status BIGINT;
ALTER TABLE push_subscriptions ADD COLUMN refused_why TEXT;
ALTER TABLE push_subscriptions ADD COLUMN refused_at BIGINT;
