-- Who counts the blocks of a network: 'local' or 'rpc'. Heights of one mean nothing to the other. Unknown until the
-- next start for clocks that are older than this.
ALTER TABLE block_clocks ADD COLUMN kind TEXT;

-- What was signed about the address before this moment is older than what ended the proof, and has no effect after
-- it. NULL where no statement ended it.
ALTER TABLE proofs ADD COLUMN outdated_before BIGINT;
UPDATE proofs SET outdated_before = (proof_log.at / 1000 + 1) * 1000 FROM proof_log
WHERE proofs.ended IN ('revoked', 'rebound') AND proof_log.change IN ('revoke', 'rebind')
    AND proof_log.network = proofs.network AND proof_log.kind = proofs.kind AND proof_log.subject = proofs.subject
    AND proof_log.action_id = proofs.action_id AND proof_log.height = proofs.until_height;
