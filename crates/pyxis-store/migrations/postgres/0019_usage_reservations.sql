-- What a process reserved in a window and may not have spent yet. When the process is gone, the rest is given back.
CREATE TABLE usage_reservations (
    node_id TEXT NOT NULL,
    slot BIGINT NOT NULL,
    api_key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    window_start_at BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    PRIMARY KEY (node_id, slot)
);
