-- Activity of wallets is public and the same for every workspace: these tables have no workspace.

-- A file of activity, named by the SHA-256 of its bytes, and how far its import got.
CREATE TABLE activity_imports (
    source TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    lines BIGINT NOT NULL,
    accepted BIGINT NOT NULL,
    rejected BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT
);

-- Transfers as they came, some ten thousand in a value.
CREATE TABLE activity_chunks (
    source TEXT NOT NULL REFERENCES activity_imports (source) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (source, number)
);

-- What models see of a wallet, computed from all transfers; digest tells whether it has changed.
CREATE TABLE activity_wallets (
    address BYTEA NOT NULL PRIMARY KEY,
    digest BIGINT NOT NULL,
    features BYTEA NOT NULL
);

-- Trained models; the highest revision is in force.
CREATE TABLE model_bundles (
    revision BIGINT NOT NULL PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    installed_at BIGINT NOT NULL,
    data BYTEA NOT NULL
);

-- How many scores of each twentieth of 0 to 100 were served; bucket -1 is too little data.
CREATE TABLE model_serves (
    model TEXT NOT NULL,
    bucket BIGINT NOT NULL,
    served BIGINT NOT NULL,
    PRIMARY KEY (model, bucket)
);

-- Suspected groups as they were last found, JSON.
CREATE TABLE suspect_groups (
    position BIGINT NOT NULL PRIMARY KEY,
    document TEXT NOT NULL
);
