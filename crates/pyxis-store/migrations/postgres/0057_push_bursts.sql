-- Notifications of a browser within a minute: the time of the first, and their number.
ALTER TABLE push_subscriptions ADD COLUMN burst_at BIGINT;
ALTER TABLE push_subscriptions ADD COLUMN burst_count BIGINT NOT NULL DEFAULT 0;
