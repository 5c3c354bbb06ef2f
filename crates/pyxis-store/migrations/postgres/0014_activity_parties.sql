-- With how many distinct addresses each address that was imported exchanged anything, computed with
-- activity_wallets. An address that never sent anything has a row here and none there.
CREATE TABLE activity_parties (
    address BYTEA PRIMARY KEY,
    parties BIGINT NOT NULL
);
