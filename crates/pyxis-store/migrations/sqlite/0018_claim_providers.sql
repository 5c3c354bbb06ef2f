-- The name of the Stamp that the claim stands on, which outlives a credential that its holder deletes. NULL is not
-- known: in claims that are older than this, as to look up what millions of them stand on would take minutes.
ALTER TABLE claims ADD COLUMN provider TEXT;
