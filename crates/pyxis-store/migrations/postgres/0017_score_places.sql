-- Where a row lies is not the program's to say here: the file is for SQLite.
SELECT 1;
