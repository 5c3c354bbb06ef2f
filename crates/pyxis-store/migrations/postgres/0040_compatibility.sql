-- Oldest schema level of a program that may use the database with a migration in it, and the release that applied it.
-- A program that does not know a migration learns from these whether it may go on.
ALTER TABLE schema_migrations ADD COLUMN readable_from BIGINT;
ALTER TABLE schema_migrations ADD COLUMN release TEXT;

-- Release of each node, and the newest migration that it knows.
ALTER TABLE nodes ADD COLUMN release TEXT;
ALTER TABLE nodes ADD COLUMN level BIGINT;
