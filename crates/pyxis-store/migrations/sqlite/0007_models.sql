-- Activity of wallets is public and the same for every workspace: these tables have no workspace.

-- A file of activity, named by the SHA-256 of its bytes, and how far its import got.
CREATE TABLE activity_imports (
    source TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    lines INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

-- Transfers as they came, some ten thousand in a value.
CREATE TABLE activity_chunks (
    source TEXT NOT NULL REFERENCES activity_imports (source) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (source, number)
) STRICT;

-- What models see of a wallet, computed from all transfers; digest tells whether it has changed.
CREATE TABLE activity_wallets (
    address BLOB NOT NULL PRIMARY KEY,
    digest INTEGER NOT NULL,
    features BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Trained models; the highest revision is in force.
CREATE TABLE model_bundles (
    revision INTEGER NOT NULL PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    installed_at INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;

-- How many scores of each twentieth of 0 to 100 were served; bucket -1 is too little data.
CREATE TABLE model_serves (
    model TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    served INTEGER NOT NULL,
    PRIMARY KEY (model, bucket)
) STRICT, WITHOUT ROWID;

-- Suspected groups as they were last found, JSON.
CREATE TABLE suspect_groups (
    position INTEGER NOT NULL PRIMARY KEY,
    document TEXT NOT NULL
) STRICT;
