-- What names each address as features see it, and what is the same for all of them: wallets that no change of these
-- reaches are not computed again. 0 is not known, so that the next computation is of all wallets.
ALTER TABLE activity_parties ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity_parties ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity_state ADD COLUMN world INTEGER NOT NULL DEFAULT 0;
