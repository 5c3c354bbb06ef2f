-- What a process reserved in a window and may not have spent yet. When the process is gone, the rest is given back.
CREATE TABLE usage_reservations (
    node_id TEXT NOT NULL,
    slot INTEGER NOT NULL,
    api_key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    window_start_at INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (node_id, slot)
) STRICT, WITHOUT ROWID;
