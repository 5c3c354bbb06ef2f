-- Name of the passkey that confirmed the approval of a task. Without one, the task covers no credential whose policy
-- requires a passkey.
ALTER TABLE tasks ADD COLUMN passkey TEXT;
-- Email address of the person who stopped the task.
ALTER TABLE tasks ADD COLUMN stopped_by_email TEXT;
