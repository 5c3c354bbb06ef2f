-- Notifications of a browser within a minute: the time of the first, and their number.
ALTER TABLE push_subscriptions ADD COLUMN burst_at INTEGER;
ALTER TABLE push_subscriptions ADD COLUMN burst_count INTEGER NOT NULL DEFAULT 0;
