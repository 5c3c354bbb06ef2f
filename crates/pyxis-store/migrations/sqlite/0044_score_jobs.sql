-- Scoring of many addresses as a job. The addresses and their results live in chunks, so that every node can work on
-- them and a finished chunk is a checkpoint. A node holds a running job until held_until_at.
CREATE TABLE score_jobs (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    scorer_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    total INTEGER NOT NULL,
    scored INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    retryable INTEGER NOT NULL,
    problem TEXT,
    claims INTEGER NOT NULL,
    holder TEXT,
    held_until_at INTEGER NOT NULL,
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX score_jobs_by_workspace ON score_jobs (workspace_id, id);
CREATE INDEX score_jobs_by_scorer ON score_jobs (workspace_id, scorer_id);
CREATE INDEX score_jobs_open ON score_jobs (state, id);

-- failed and retryable count the rows of the result. A pending chunk with a result runs its failed rows again.
CREATE TABLE score_job_chunks (
    job_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    scored INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    retryable INTEGER NOT NULL,
    input BLOB NOT NULL,
    result BLOB,
    PRIMARY KEY (job_id, number),
    FOREIGN KEY (job_id) REFERENCES score_jobs (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX score_job_chunks_pending ON score_job_chunks (job_id, number) WHERE state = 'pending';

-- All members of a group and the transfers between them. The document lists only those that are drawn.
ALTER TABLE suspect_groups ADD COLUMN members BLOB;
ALTER TABLE suspect_groups ADD COLUMN links BLOB;
