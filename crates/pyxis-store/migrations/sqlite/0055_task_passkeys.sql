-- Name of the passkey that confirmed the approval of a task. Without one, the task covers no credential whose policy
-- requires a passkey.
ALTER TABLE tasks ADD COLUMN passkey TEXT;
