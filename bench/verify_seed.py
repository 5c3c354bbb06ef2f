"""Fills the registry and the score history of a Pyxis on SQLite, and a plain table with as many rows to compare with.

verify_seed.py PYXIS_DB BARE_DB PROOFS
"""

import sqlite3
import sys
import time

pyxis, bare, proofs = sys.argv[1], sys.argv[2], int(sys.argv[3])
now = int(time.time() * 1000)
action = (123456789).to_bytes(32, "big")
year = 365 * 24 * 3600 * 1000


def proof(number):
    return (number.to_bytes(20, "big"), action, number.to_bytes(32, "big"), now, now + year, now)


with sqlite3.connect(pyxis) as database:
    database.executemany(
        "INSERT INTO proofs (network, kind, subject, action_id, nullifier, issuer, issued_at, expires_at, "
        "from_height, registered_at) VALUES ('optimism', 'gov-id', ?, ?, ?, '0xbench', ?, ?, 1, ?)",
        map(proof, range(1, proofs + 1)),
    )
    # As scorer 1 records scores (pyxis-core, score/stored.rs), a day before the first block.
    day_ago = now - 24 * 3600 * 1000
    body = f"2000000 2000000 {day_ago} {now + year} 1 2000000 {now + year} 0 Stamp#0"
    database.executemany(
        "INSERT INTO score_history (scorer_id, address, computed_at, workspace_id, body) "
        "SELECT 1, ?, ?, workspace_id, ? FROM scorers WHERE id = 1",
        ((number.to_bytes(20, "big"), day_ago, body) for number in range(1, proofs + 1)),
    )
    database.execute("ANALYZE")

with sqlite3.connect(bare) as database:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(
        "CREATE TABLE bare_scores (scorer_id INTEGER, address BLOB, body TEXT, PRIMARY KEY (scorer_id, address)) "
        "STRICT, WITHOUT ROWID"
    )
    body = '{"result":true,"expirationDate":%d}' % ((now + year) // 1000)
    database.executemany(
        "INSERT INTO bare_scores VALUES (1, ?, ?)",
        ((number.to_bytes(20, "big"), body) for number in range(1, proofs + 1)),
    )
