-- Number of the audit record up to which every request that the node sent has its outcome.
ALTER TABLE nodes ADD COLUMN settled_seq BIGINT;
