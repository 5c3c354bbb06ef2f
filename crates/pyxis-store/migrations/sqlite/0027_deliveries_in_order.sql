-- Requests that an endpoint was not told of yet: what tells of their decisions waits for these.
CREATE INDEX deliveries_untold ON deliveries (webhook_id, txn_id)
    WHERE status = 'pending' AND event = 'approval.requested' AND attempts = 0 AND resends = 0;
