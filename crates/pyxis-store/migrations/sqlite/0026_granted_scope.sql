-- The scope that the token endpoint named with the token; NULL where it named none, which means the scope asked for.
ALTER TABLE oauth_tokens ADD COLUMN granted_scope TEXT;
