-- Whether a passkey ceremony gave the vote: one that was given without does not count once a passkey is needed.
ALTER TABLE votes ADD COLUMN passkey INTEGER NOT NULL DEFAULT 0;

-- Messages that could not be shown are shown to people.
CREATE INDEX chat_messages_in_trouble ON chat_messages (workspace_id, platform, id) WHERE error IS NOT NULL;
