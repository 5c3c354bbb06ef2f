-- Digests are as good as random, so each credential that comes changed a page of the index of its own. In parts, one
-- for each 65,536 numbers of Stamps, what comes changes the pages of the last: these stay in memory and go to the disk
-- once for many. Whoever looks for a digest asks each part.
DROP INDEX stamps_by_digest;
CREATE INDEX stamps_by_digest ON stamps (id >> 16, substr(digest, 1, 6));
