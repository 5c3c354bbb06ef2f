-- Steps of the home page's set-up list that a person skipped.
CREATE TABLE setup_dismissals (
    workspace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    step TEXT NOT NULL,
    dismissed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id, step),
    FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE CASCADE
);

-- Accounts that must be connected again are few; the home page lists those of its workspace.
CREATE INDEX oauth_tokens_with_problem ON oauth_tokens (workspace_id) WHERE problem IS NOT NULL;
