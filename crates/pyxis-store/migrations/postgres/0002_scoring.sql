-- Scoring. Weights, scores and thresholds are hundred-thousandths in BIGINT columns; addresses are 20
-- bytes and digests 32.

-- The revision rises with every change of weights or threshold: a score says by which it was computed.
ALTER TABLE scorers ADD COLUMN threshold BIGINT NOT NULL DEFAULT 2000000;
ALTER TABLE scorers ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;
DROP INDEX scorers_by_workspace;
CREATE UNIQUE INDEX scorers_by_workspace ON scorers (workspace_id, id);

CREATE TABLE scorer_weights (
    scorer_id BIGINT NOT NULL,
    provider TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    weight BIGINT NOT NULL,
    PRIMARY KEY (scorer_id, provider),
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
);

-- A scorer from before there were scores gets what a new one gets: the published weights.
WITH published (provider, weight) AS (VALUES
    ('BeginnerCommunityStaker', 67300),
    ('BinanceBABT', 1602100),
    ('BinanceBABT2', 1002100),
    ('Biometrics', 600100),
    ('Brightid', 20200),
    ('CivicCaptchaPass', 82300),
    ('CivicLivenessPass', 303800),
    ('CivicUniquenessPass', 500500),
    ('CleanHands', 300000),
    ('CoinbaseDualVerification', 1604200),
    ('CoinbaseDualVerification2', 1004200),
    ('Discord', 51600),
    ('ETHDaysActive#50', 20700),
    ('ETHGasSpent#0.25', 77800),
    ('ETHScore#50', 1602100),
    ('ETHScore#75', 239900),
    ('ETHScore#90', 292600),
    ('ETHnumTransactions#100', 21000),
    ('Ens', 20800),
    ('ExperiencedCommunityStaker', 216100),
    ('GitcoinContributorStatistics#totalContributionAmountGte#10', 22300),
    ('GitcoinContributorStatistics#totalContributionAmountGte#100', 101700),
    ('GitcoinContributorStatistics#totalContributionAmountGte#1000', 499700),
    ('GnosisSafe', 22200),
    ('Google', 52500),
    ('GuildAdmin', 46800),
    ('HolonymGovIdProvider', 1602600),
    ('HolonymPhone', 152100),
    ('IdenaState#Human', 192100),
    ('IdenaState#Newbie', 589200),
    ('IdenaState#Verified', 192400),
    ('Lens', 23000),
    ('Linkedin', 153100),
    ('NFT', 103200),
    ('NFTScore#50', 1624600),
    ('NFTScore#75', 236200),
    ('NFTScore#90', 241300),
    ('SelfStakingBronze', 89700),
    ('SelfStakingGold', 270000),
    ('SelfStakingSilver', 206600),
    ('SnapshotProposalsProvider', 23900),
    ('TrustaLabs', 51100),
    ('TrustedCitizen', 400900),
    ('X', 320000),
    ('ZkSyncEra', 60600),
    ('githubContributionActivityGte#120', 225900),
    ('githubContributionActivityGte#30', 187900),
    ('githubContributionActivityGte#60', 188800),
    ('zkSyncScore#20', 167000),
    ('zkSyncScore#5', 167000),
    ('zkSyncScore#50', 167000))
INSERT INTO scorer_weights (scorer_id, provider, workspace_id, weight)
SELECT scorers.id, published.provider, scorers.workspace_id, published.weight FROM scorers CROSS JOIN published;

-- Stamps and models have tiers and windows of their own; a limit of its own belongs to tier 4.
ALTER TABLE api_keys RENAME COLUMN tier TO stamps_tier;
ALTER TABLE api_keys ADD COLUMN stamps_limit BIGINT;
ALTER TABLE api_keys ADD COLUMN models_tier BIGINT NOT NULL DEFAULT 1;
ALTER TABLE api_keys ADD COLUMN models_limit BIGINT;
DROP INDEX api_keys_by_workspace;
CREATE UNIQUE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

CREATE TABLE history_requests (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    api_key_id TEXT NOT NULL,
    use_case TEXT NOT NULL,
    state TEXT NOT NULL,
    requested_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    decided_by TEXT,
    decided_at BIGINT,
    FOREIGN KEY (workspace_id, api_key_id) REFERENCES api_keys (workspace_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX history_requests_pending ON history_requests (workspace_id, api_key_id) WHERE state = 'pending';
CREATE INDEX history_requests_by_age ON history_requests (workspace_id, id);
CREATE INDEX history_requests_by_key ON history_requests (workspace_id, api_key_id);

-- admitted - previous is how many of the batch that was counted last were admitted.
CREATE TABLE usage_windows (
    api_key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    window_start_at BIGINT NOT NULL,
    admitted BIGINT NOT NULL,
    previous BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (api_key_id, surface, window_start_at)
);
CREATE INDEX usage_windows_by_age ON usage_windows (window_start_at);

CREATE TABLE issuers (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    did TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, did)
);

-- Platforms of a catalogue of its own; a workspace without any has the built-in catalogue.
CREATE TABLE platforms (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    id TEXT NOT NULL,
    position BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- An address has a row once it ever had a Stamp. Whoever changes its Stamps or scores locks this row.
CREATE TABLE holders (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    address BYTEA NOT NULL,
    since_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, address)
);

CREATE TABLE stamps (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    address BYTEA NOT NULL,
    provider TEXT NOT NULL,
    issuer TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    nullifiers TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    UNIQUE (workspace_id, address, provider),
    FOREIGN KEY (workspace_id, address) REFERENCES holders (workspace_id, address)
);
CREATE INDEX stamps_by_age ON stamps (workspace_id, address, id);
CREATE UNIQUE INDEX stamps_by_digest ON stamps (workspace_id, digest);

-- Apart from stamps, so that scoring never reads them.
CREATE TABLE stamp_credentials (
    stamp_id BIGINT NOT NULL PRIMARY KEY REFERENCES stamps (id) ON DELETE CASCADE,
    credential TEXT NOT NULL
);

-- Who else has a nullifier. The list in stamps is the truth; the two are written together.
CREATE TABLE stamp_nullifiers (
    workspace_id TEXT NOT NULL,
    nullifier TEXT NOT NULL,
    address BYTEA NOT NULL,
    provider TEXT NOT NULL,
    PRIMARY KEY (workspace_id, nullifier, address, provider)
);

-- By signing digest, so that the same credential in another spelling stays revoked.
CREATE TABLE revocations (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    digest BYTEA NOT NULL,
    revoked_at BIGINT NOT NULL,
    revoked_by TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (workspace_id, digest)
);
CREATE INDEX revocations_by_age ON revocations (workspace_id, revoked_at);

-- A nullifier belongs to one address for each scorer, until expires_at.
CREATE TABLE claims (
    scorer_id BIGINT NOT NULL,
    nullifier TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    address BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scorer_id, nullifier),
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX claims_by_digest ON claims (workspace_id, digest);

-- The latest score of an address, body being the finished answer. Time alone changes it at
-- valid_until; what changes it otherwise makes it stale, or raises the scorer's revision.
CREATE TABLE scores (
    scorer_id BIGINT NOT NULL,
    address BYTEA NOT NULL,
    workspace_id TEXT NOT NULL,
    score BIGINT NOT NULL,
    computed_at BIGINT NOT NULL,
    valid_until BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    stale BOOLEAN NOT NULL,
    in_history BOOLEAN NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (scorer_id, address),
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX scores_by_address ON scores (workspace_id, address);

CREATE TABLE score_history (
    scorer_id BIGINT NOT NULL,
    address BYTEA NOT NULL,
    computed_at BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (scorer_id, address, computed_at),
    FOREIGN KEY (workspace_id, scorer_id) REFERENCES scorers (workspace_id, id) ON DELETE CASCADE
);

-- Issuers and platforms are cached: each is asked for with every credential that comes in and every
-- page of Stamps, and changes by hand. Scorers and keys are read with each request, weights are known
-- by the scorer's revision, and the rest is data: none of that raises the generation.
CREATE TRIGGER issuers_generation AFTER INSERT OR DELETE OR UPDATE OF workspace_id, did, name ON issuers
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
CREATE TRIGGER platforms_generation AFTER INSERT OR DELETE OR UPDATE OF workspace_id, id, position, document ON platforms
    FOR EACH STATEMENT EXECUTE FUNCTION raise_generation();
