-- Where a score lies follows from whose it is (see scores/place.rs), so that it is found without an index: the last
-- five bytes of the address, the lowest first, and the scorer above them. A place that is taken leaves a score where
-- it was.
UPDATE OR IGNORE scores SET rowid = ((scorer_id & 63) << 40)
    | (instr('123456789ABCDEF', substr(hex(address), 31, 1)) << 4)
    | (instr('123456789ABCDEF', substr(hex(address), 32, 1)))
    | (instr('123456789ABCDEF', substr(hex(address), 33, 1)) << 12)
    | (instr('123456789ABCDEF', substr(hex(address), 34, 1)) << 8)
    | (instr('123456789ABCDEF', substr(hex(address), 35, 1)) << 20)
    | (instr('123456789ABCDEF', substr(hex(address), 36, 1)) << 16)
    | (instr('123456789ABCDEF', substr(hex(address), 37, 1)) << 28)
    | (instr('123456789ABCDEF', substr(hex(address), 38, 1)) << 24)
    | (instr('123456789ABCDEF', substr(hex(address), 39, 1)) << 36)
    | (instr('123456789ABCDEF', substr(hex(address), 40, 1)) << 32);
