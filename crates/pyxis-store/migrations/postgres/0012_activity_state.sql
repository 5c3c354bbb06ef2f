-- Of which activity, features and models the rows of activity_wallets and suspect_groups are: mark is empty
-- while they are computed, and run tells the computations apart. At most one row.
CREATE TABLE activity_state (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    run BIGINT NOT NULL,
    mark TEXT NOT NULL
);
