-- Keys that sign scores. Private halves are derived from the master key by scheme and number; the public half stands
-- here. A key signs from its moment until the next one's.
CREATE TABLE score_keys (
    scheme TEXT NOT NULL,
    number BIGINT NOT NULL,
    public_key TEXT NOT NULL,
    signs_from BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    withdrawn_at BIGINT,
    PRIMARY KEY (scheme, number)
);
