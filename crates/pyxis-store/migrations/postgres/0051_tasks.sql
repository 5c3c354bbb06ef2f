-- Tasks that agents propose and people approve. expires_at is the end of the time to decide, and then that of the task.
CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    purpose TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    minutes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by_email TEXT,
    reason TEXT,
    ended_at BIGINT
);
CREATE UNIQUE INDEX tasks_proposed ON tasks (agent_id, fingerprint) WHERE state = 'proposed';
CREATE INDEX tasks_live ON tasks (workspace_id, agent_id) WHERE state IN ('proposed', 'approved');
CREATE INDEX tasks_by_age ON tasks (workspace_id, created_at, id);
CREATE INDEX tasks_waiting ON tasks (workspace_id, created_at, id) WHERE state = 'proposed';

-- Actions of tasks, from position 1. max_uses is 0 for one that the person removed. content is
-- a JSON list of conditions.
CREATE TABLE task_actions (
    task_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    credential_version BIGINT NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    content TEXT NOT NULL,
    proposed_uses BIGINT NOT NULL,
    max_uses BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    last_used_at BIGINT,
    -- url and content without secrets, if they have any.
    shown_url TEXT,
    shown_content TEXT,
    PRIMARY KEY (task_id, position)
);
CREATE INDEX task_actions_by_credential ON task_actions (credential_id, workspace_id);
