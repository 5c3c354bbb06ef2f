"""Fills a Pyxis database with scored addresses of five Stamps each, behind the program's back.

    scores_seed.py ADDRESSES sqlite FILE [NEWCOMERS]   fills the file
    scores_seed.py ADDRESSES sql [NEWCOMERS]           prints the statements for psql

Addresses are 1 to ADDRESSES as 20-byte numbers; NEWCOMERS more have 30 Stamps and no score. What is stored has the form
that Pyxis gives it, but for the credentials: they are neither packed nor signed, as nothing in the benchmark reads them.
"""

import sqlite3
import sys
from hashlib import sha256

STAMPS = 5
NEWCOMER_STAMPS = 30
EXPIRES = "2099-01-01T00:00:00.000000+00:00"
EXPIRES_AT = 4070908800000
AT = 1767225600000

# A record as it is answered, without its address, and as Pyxis stores it (pyxis-core, score/stored.rs).
ENTRIES = ",".join(
    f'"Stamp#{n}":{{"score":"1.00000","dedup":false,"expiration_date":"{EXPIRES}"}}' for n in range(STAMPS)
)
HEAD, TAIL = '{"address":"0x', (
    '","score":"5.00000","passing_score":false,"last_score_timestamp":"2026-01-01T00:00:00.000000+00:00",'
    f'"expiration_timestamp":"{EXPIRES}","threshold":"20.00000","error":null,"stamps":{{{ENTRIES}}}}}'
)
STORED = f"500000 2000000 {AT} {EXPIRES_AT} 0" + "".join(f" 100000 {EXPIRES_AT} 0 Stamp#{n}" for n in range(STAMPS))
# The one nullifier of a Stamp, out of the list that it has.
NULLIFIER = "substr(nullifiers, 3, length(nullifiers) - 4)"
CREDENTIAL = '{"type":["VerifiableCredential"],"proof":{"type":"None"},"padding":"' + "x" * 400 + '"}'


def stamps(address, digest, series, names):
    """Holders and their Stamps: the same rows on both engines; the arguments write bytes and numbers."""
    return [
        f"INSERT INTO holders SELECT w.id, {address('n.n')}, {AT} FROM {series}, workspaces w",
        "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, nullifiers, "
        f"received_at) SELECT w.id, {address('n.n')}, 'Stamp#' || s.s, 'did:ethr:0x00', {AT}, {EXPIRES_AT}, "
        f"{digest('n.n', 's.s')}, '[\"v1:' || n.n || '/' || s.s || '\"]', {AT} "
        f"FROM {series} CROSS JOIN {names}, workspaces w",
    ]


def scores(address, digest, series, names, key, place):
    """Rows that scoring them stores; where SQLite keeps a score follows from its address."""
    column, value = ("rowid, ", f"{place('n.n')}, ") if place else ("", "")
    return [
        "INSERT INTO claims (scorer_id, nullifier, workspace_id, address, digest, expires_at, provider, claimed_at) "
        f"SELECT 1, 'v1:' || n.n || '/' || s.s, w.id, {address('n.n')}, "
        f"{digest('n.n', 's.s')}, {EXPIRES_AT}, 'Stamp#' || s.s, {AT} FROM {series} CROSS JOIN {names}, workspaces w",
        f"INSERT INTO scores ({column}scorer_id, address, workspace_id, score, computed_at, valid_until, revision, "
        f"stale, in_history, body) SELECT {value}1, {address('n.n')}, w.id, 500000, {AT}, {EXPIRES_AT}, s.revision, "
        f"{key}, NOT ({key}), '{STORED}' FROM {series}, workspaces w, scorers s WHERE s.id = 1",
    ]


def bare_scores(address, series, bytes_type):
    """The answers as they are, for the servers that Pyxis is measured against."""
    return [
        f"CREATE TABLE bare_scores (scorer_id BIGINT NOT NULL, address {bytes_type} NOT NULL, body TEXT NOT NULL, "
        "PRIMARY KEY (scorer_id, address))",
        f"INSERT INTO bare_scores SELECT 1, {address('n.n')}, "
        f"'{HEAD}' || lower({address('n.n', True)}) || '{TAIL}' FROM {series}",
    ]


def statements(address, digest, nullifier_key, series, key, bytes_type, addresses, newcomers, place=None):
    """Everything. `series(name, first, last)` is a table of numbers."""
    old, names = series("n", 1, addresses), series("s", 0, STAMPS - 1)
    new, more_names = series("n", addresses + 1, addresses + newcomers), series("s", 0, NEWCOMER_STAMPS - 1)
    return [
        "UPDATE api_keys SET stamps_tier = 4, stamps_limit = 1000000000",
        *stamps(address, digest, old, names),
        *scores(address, digest, old, names, key, place),
        *bare_scores(address, old, bytes_type),
        *stamps(address, digest, new, more_names),
        f"INSERT INTO stamp_credentials (stamp_id, credential) SELECT id, '{CREDENTIAL}' FROM stamps",
        f"INSERT INTO stamp_nullifiers SELECT {nullifier_key('stamps.workspace_id', NULLIFIER)}, id "
        "FROM stamps JOIN scores USING (address) ORDER BY 1, 2",
    ]


def sqlite(addresses, path, newcomers):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.create_function("address", 1, lambda n: n.to_bytes(20), deterministic=True)
    connection.create_function("digest", 2, lambda n, s: (n * 32 + s).to_bytes(32), deterministic=True)
    # As the program does (pyxis-store, scores/place.rs), in scorer 1.
    connection.create_function(
        "place", 1, lambda n: int.from_bytes(n.to_bytes(20)[15:] + b"\1", "little"), deterministic=True
    )
    # As the program does (pyxis-store, stamps/nullifiers.rs).
    connection.create_function(
        "nullifier_key",
        2,
        lambda workspace, nullifier: int.from_bytes(sha256((workspace + nullifier).encode()).digest()[:6]) - 2**47,
        deterministic=True,
    )
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA foreign_keys = OFF")

    def series(name, first, last):
        return (
            f"(WITH RECURSIVE c({name}) AS (SELECT {first} WHERE {first} <= {last} UNION ALL "
            f"SELECT {name} + 1 FROM c WHERE {name} < {last}) SELECT {name} FROM c) {name}"
        )

    made = statements(
        lambda n, text=False: f"hex(address({n}))" if text else f"address({n})",
        lambda n, s: f"digest({n}, {s})",
        lambda workspace, nullifier: f"nullifier_key({workspace}, {nullifier})",
        series,
        "0",
        "BLOB",
        addresses,
        newcomers,
        lambda n: f"place({n})",
    )
    connection.execute("BEGIN")
    for statement in made:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.executescript("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")


def sql(addresses, newcomers):
    def address(n, text=False):
        digits = f"lpad(to_hex({n}), 40, '0')"
        return digits if text else f"decode({digits}, 'hex')"

    made = statements(
        address,
        lambda n, s: f"decode(lpad(to_hex({n}::bigint * 32 + {s}), 64, '0'), 'hex')",
        lambda workspace, nullifier: (
            f"('x' || encode(substr(sha256(convert_to({workspace} || {nullifier}, 'UTF8')), 1, 6), 'hex'))"
            "::bit(48)::bigint - 140737488355328"
        ),
        lambda name, first, last: f"generate_series({first}, {last}) {name}({name})",
        "false",
        "BYTEA",
        addresses,
        newcomers,
    )
    print(";\n".join(["SET synchronous_commit = off", "SET session_replication_role = replica", *made]) + ";")
    print("VACUUM ANALYZE; CHECKPOINT;")


if __name__ == "__main__":
    count, engine, *rest = sys.argv[1:]
    if engine == "sqlite":
        sqlite(int(count), rest[0], int(rest[1]) if rest[1:] else 0)
    else:
        sql(int(count), int(rest[0]) if rest else 0)
