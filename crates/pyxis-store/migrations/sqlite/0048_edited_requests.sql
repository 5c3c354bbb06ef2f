-- Requests that a person changed before approving them. `digest` is that of the request as people decide on it; the
-- other digests are of the request as its agent sent it, as it was decided, and as it was sent.
ALTER TABLE approvals ADD COLUMN edits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN asked_digest TEXT;
ALTER TABLE approvals ADD COLUMN decided_digest TEXT;
ALTER TABLE approvals ADD COLUMN sent_digest TEXT;
ALTER TABLE approvals ADD COLUMN edited_by TEXT;
ALTER TABLE approvals ADD COLUMN edited_by_email TEXT;
ALTER TABLE approvals ADD COLUMN edited_at INTEGER;

-- The request of the agent, if `sealed_request` is an edited one. Sealed as that one is.
ALTER TABLE approval_bodies ADD COLUMN sealed_asked BLOB;
