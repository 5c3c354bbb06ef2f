-- Escalation steps of pending requests that are still to come. A step goes in the transaction that performs it, and all of
-- a request's steps go with its decision.
CREATE TABLE escalation_steps (
    txn_id TEXT NOT NULL,
    after_minutes BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (txn_id, after_minutes),
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
);
CREATE INDEX escalation_steps_due ON escalation_steps (due_at);

-- Rooms and people that a request was announced to. `recipient` is the id of a room on its platform, or of a user.
CREATE TABLE announcements (
    txn_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    at BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (txn_id, channel, kind, recipient, at),
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
);

-- Hours of the day in which a person gets no messages. Minutes are counted from midnight in the time zone.
CREATE TABLE quiet_hours (
    user_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    start_minute BIGINT NOT NULL,
    end_minute BIGINT NOT NULL,
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
);

-- User whom a private message was written for, null for a room. Messages that are not posted yet get theirs.
ALTER TABLE chat_messages ADD COLUMN recipient TEXT;
UPDATE chat_messages SET recipient = (
    SELECT chat_identities.user_id FROM chat_identities
    WHERE chat_identities.workspace_id = chat_messages.workspace_id
    AND chat_identities.platform = chat_messages.platform
    AND chat_identities.external_id = chat_messages.chat
) WHERE message_ref IS NULL AND next_at IS NOT NULL;
