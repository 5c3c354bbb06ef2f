-- How many requests of an agent may wait for a person at once. It is read in the transaction that adds one, so no
-- generation has to rise with it.
ALTER TABLE agents ADD COLUMN max_pending BIGINT NOT NULL DEFAULT 100;
CREATE INDEX approvals_pending_by_agent ON approvals (agent_id, expires_at) WHERE state = 'pending';
