-- Outcomes that the agent has not received yet. The same request again receives them, once.
CREATE TABLE undelivered_outcomes (
    txn_id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    dedupe TEXT NOT NULL,
    FOREIGN KEY (workspace_id, txn_id) REFERENCES approvals (workspace_id, txn_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX undelivered_outcomes_of_request ON undelivered_outcomes (workspace_id, dedupe);
