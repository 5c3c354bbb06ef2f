-- Reviews of scores that the scored people ask for. An address has at most one open review in a scorer.
CREATE TABLE score_reviews (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    scorer_id INTEGER NOT NULL,
    address BLOB NOT NULL,
    reason TEXT NOT NULL,
    score INTEGER NOT NULL,
    threshold INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    answer TEXT,
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX score_reviews_open ON score_reviews (scorer_id, address) WHERE state = 'open';
CREATE INDEX score_reviews_by_address ON score_reviews (scorer_id, address, id);
CREATE INDEX score_reviews_by_workspace ON score_reviews (workspace_id, id);
