-- By the beginning of a digest. Digests are as good as random, so each credential that comes changes a page of this
-- index of its own: what makes the index small makes imports quick. That no credential is here twice follows from
-- what its digest is of, the address and the name among it: who stores one removes what cannot be read of it first.
-- Reads of Stamps wait for the whole of this; to make the new one first could deadlock with who stores some.
DROP INDEX stamps_by_digest;
CREATE INDEX stamps_by_digest ON stamps (substr(digest, 1, 6));
ANALYZE stamps;
