-- PgBouncer does not pass on the options of a connection, so the role has this one.
ALTER ROLE pyxis SET lock_timeout = '5s';
