-- A page of the inbox is read in this order, whatever the number of decided requests.
CREATE INDEX approvals_pending_by_age ON approvals (workspace_id, created_at, txn_id) WHERE state = 'pending';
