-- An issuer is its key, listed by one DID whatever DID named it: did:ethr for each DID that ends in an address. Of several
-- that name one key, the oldest stays.
DELETE FROM issuers WHERE did LIKE 'did:%:0x%' AND EXISTS (
    SELECT 1 FROM issuers AS other
    WHERE other.workspace_id = issuers.workspace_id AND other.did LIKE 'did:%:0x%'
    AND substr(other.did, length(other.did) - 41) = substr(issuers.did, length(issuers.did) - 41)
    AND (other.created_at, other.did) < (issuers.created_at, issuers.did));
UPDATE issuers SET did = 'did:ethr:' || substr(did, length(did) - 41) WHERE did LIKE 'did:%:0x%';
-- Digests of one credential with several valid proofs: revoking one of them revokes all.
CREATE TABLE proof_digests (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    digest BYTEA NOT NULL,
    first_digest BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, digest)
);
CREATE INDEX proof_digests_by_first ON proof_digests (workspace_id, first_digest);
