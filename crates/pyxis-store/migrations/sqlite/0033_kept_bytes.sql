-- Bytes kept for an agent, so that one agent cannot fill the disk. The index alone answers their sum.
ALTER TABLE approval_bodies ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_bodies ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approval_bodies SET
    agent_id = coalesce((SELECT agent_id FROM approvals WHERE approvals.txn_id = approval_bodies.txn_id), ''),
    bytes = length(sealed_request) + coalesce(length(sealed_response), 0);
CREATE INDEX approval_bodies_by_agent ON approval_bodies (workspace_id, agent_id, bytes);

ALTER TABLE idempotency ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE idempotency SET bytes = coalesce(length(sealed_outcome), 0);
CREATE INDEX idempotency_by_agent ON idempotency (workspace_id, agent_id, bytes);
