-- Set when the nodes of a network take over the count of its blocks: the last block that Pyxis counted, and the first
-- one of the nodes that may change the registry.
ALTER TABLE block_clocks ADD COLUMN local_until INTEGER;
ALTER TABLE block_clocks ADD COLUMN rpc_from INTEGER;
