"""Fills a Pyxis database with scored addresses of five Stamps each, behind the program's back.

    scores_seed.py ADDRESSES sqlite FILE      fills the file
    scores_seed.py ADDRESSES sql              prints the statements for psql

Addresses are 1 to ADDRESSES as 20-byte numbers. What is stored has the form that Pyxis gives it, but no
signature: nothing in the benchmark reads the credentials.
"""

import sqlite3
import sys

STAMPS = 5
EXPIRES = "2099-01-01T00:00:00.000000+00:00"
EXPIRES_AT = 4070908800000
AT = 1767225600000

ENTRIES = ",".join(
    f'"Stamp#{n}":{{"score":"1.00000","dedup":false,"expiration_date":"{EXPIRES}"}}' for n in range(STAMPS)
)
HEAD, TAIL = '{"address":"0x', (
    '","score":"5.00000","passing_score":false,"last_score_timestamp":"2026-01-01T00:00:00.000000+00:00",'
    f'"expiration_timestamp":"{EXPIRES}","threshold":"20.00000","error":null,"stamps":{{{ENTRIES}}}}}'
)
CREDENTIAL = '{"type":["VerifiableCredential"],"proof":{"type":"None"},"padding":"' + "x" * 400 + '"}'


def statements(address, number, digest, series, key):
    """The same rows on both engines; the arguments are how each writes bytes and numbers."""
    return [
        "UPDATE api_keys SET stamps_tier = 4, stamps_limit = 1000000000",
        f"INSERT INTO holders SELECT w.id, {address('n.n')}, {AT} FROM {series('n')}, workspaces w",
        "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, nullifiers, "
        f"received_at) SELECT w.id, {address('n.n')}, 'Stamp#' || s.s, 'did:ethr:0x00', {AT}, {EXPIRES_AT}, "
        f"{digest('n.n', 's.s')}, '[\"v1:' || n.n || '/' || s.s || '\"]', {AT} "
        f"FROM {series('n')} CROSS JOIN {number('s')}, workspaces w",
        f"INSERT INTO stamp_credentials SELECT id, '{CREDENTIAL}' FROM stamps",
        f"INSERT INTO stamp_nullifiers SELECT w.id, 'v1:' || n.n || '/' || s.s, {address('n.n')}, 'Stamp#' || s.s "
        f"FROM {series('n')} CROSS JOIN {number('s')}, workspaces w",
        f"INSERT INTO claims SELECT 1, 'v1:' || n.n || '/' || s.s, w.id, {address('n.n')}, "
        f"{digest('n.n', 's.s')}, {EXPIRES_AT} FROM {series('n')} CROSS JOIN {number('s')}, workspaces w",
        "INSERT INTO scores (scorer_id, address, workspace_id, score, computed_at, valid_until, revision, stale, "
        f"in_history, body) SELECT 1, {address('n.n')}, w.id, 500000, {AT}, {EXPIRES_AT}, s.revision, {key}, "
        f"NOT ({key}), '{HEAD}' || lower({address('n.n', True)}) || '{TAIL}' "
        f"FROM {series('n')}, workspaces w, scorers s WHERE s.id = 1",
    ]


def sqlite(addresses, path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.create_function("address", 1, lambda n: n.to_bytes(20), deterministic=True)
    connection.create_function("digest", 2, lambda n, s: (n * 8 + s).to_bytes(32), deterministic=True)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA foreign_keys = OFF")
    connection.executescript(
        "CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
        f"SELECT n + 1 FROM c WHERE n < {addresses}) INSERT INTO numbers SELECT n FROM c; "
        f"CREATE TEMP TABLE names (s INTEGER); WITH RECURSIVE c(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM c "
        f"WHERE s < {STAMPS - 1}) INSERT INTO names SELECT s FROM c"
    )
    made = statements(
        lambda n, text=False: f"hex(address({n}))" if text else f"address({n})",
        lambda name: f"names {name}",
        lambda n, s: f"digest({n}, {s})",
        lambda name: f"numbers {name}",
        "0",
    )
    connection.execute("BEGIN")
    for statement in made:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.executescript("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")


def sql(addresses):
    def address(n, text=False):
        digits = f"lpad(to_hex({n}), 40, '0')"
        return digits if text else f"decode({digits}, 'hex')"

    made = statements(
        address,
        lambda name: f"generate_series(0, {STAMPS - 1}) {name}({name})",
        lambda n, s: f"decode(lpad(to_hex({n}::bigint * 8 + {s}), 64, '0'), 'hex')",
        lambda name: f"generate_series(1, {addresses}) {name}({name})",
        "false",
    )
    print(";\n".join(["SET synchronous_commit = off", "SET session_replication_role = replica", *made]) + ";")
    print("VACUUM ANALYZE;")


if __name__ == "__main__":
    count, engine = int(sys.argv[1]), sys.argv[2]
    if engine == "sqlite":
        sqlite(count, sys.argv[3])
    else:
        sql(count)
