-- Only SQLite has its index of digests in parts. Here it stays as it is.
SELECT 1;
