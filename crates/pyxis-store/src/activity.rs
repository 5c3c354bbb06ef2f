//! Wallet activity: imported transfers, and the features computed from them. Public data, shared by all workspaces.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

use crate::db::{Bind, FromRow, Row, Rows, row, sql};
use crate::{Executor, Store, StoreError, Tx};

row! {
    /// An activity file and its import progress.
    pub ImportRow: "activity_imports", import_columns {
        /// SHA-256 of the file, hex.
        source: String,
        /// Display name.
        name: String,
        /// Number of lines read.
        lines: i64,
        /// Number of accepted lines.
        accepted: i64,
        /// Number of rejected lines.
        rejected: i64,
        /// Start of the import.
        started_at: UnixMillis,
        /// End of the import; `None` while incomplete.
        finished_at: Option<UnixMillis>,
    }
}

/// Transfers that were read together, with the progress in their file.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// SHA-256 of the file, hex.
    pub source: String,
    /// Index of the chunk in the file: 0, 1, 2 …
    pub number: i64,
    /// Lines read before this chunk.
    pub lines_before: i64,
    /// Lines in this chunk.
    pub lines: i64,
    /// Accepted lines in this chunk.
    pub accepted: i64,
    /// Rejected lines in this chunk.
    pub rejected: i64,
    /// Encoded transfers.
    pub data: Vec<u8>,
}

/// Model features of a wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletRow {
    /// Address of the wallet.
    pub address: EvmAddress,
    /// Changes whenever the features change.
    pub digest: i64,
    /// Encoded features, the input of the models.
    pub features: Vec<u8>,
}

impl FromRow for WalletRow {
    const TABLE: &'static str = "activity_wallets";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            address: row.take("address")?,
            digest: row.take("digest")?,
            features: row.take("features")?,
        })
    }
}

row! {
    /// Data about an address that occurs in imports, even if it never sent anything.
    pub PartyRow: "activity_parties", party_columns {
        /// Address, as sender or recipient.
        address: EvmAddress,
        /// Number of distinct counterparties.
        parties: i64,
        /// Changes with the address's own transfers.
        own: i64,
        /// Changes with any data of this address that features of other wallets use.
        seen: i64,
    }
}

/// One computation of wallet features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Sequence number. The highest belongs to the newest run.
    pub number: i64,
    /// Digest of the data shared by all wallets, left by the previous run; 0 if that run did not finish.
    pub global_fingerprint: i64,
}

/// Starts an import, unless it exists. Returns its row.
pub async fn begin_import(
    store: &Store,
    source: &str,
    name: &str,
    now: UnixMillis,
) -> Result<ImportRow, StoreError> {
    let query = sql(
        "INSERT INTO activity_imports (source, name, lines, accepted, rejected, started_at, finished_at) \
         VALUES ($1, $2, 0, 0, 0, $3, NULL) ON CONFLICT DO NOTHING",
    );
    store.execute(query.bind(source).bind(name).bind(now)).await?;
    let query = sql(concat!("SELECT ", import_columns!(), " FROM activity_imports WHERE source = $1"));
    store.optional(query.bind(source)).await?.ok_or(StoreError::Aborted)
}

/// All imports, newest first.
pub async fn list_imports(executor: impl Executor) -> Result<Vec<ImportRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", import_columns!(), " FROM activity_imports ORDER BY started_at DESC, source"));
    executor.all(query).await
}

/// Stores a chunk together with the import's progress. Returns false if another caller has already advanced it.
pub async fn append(store: &Store, chunk: Chunk) -> Result<bool, StoreError> {
    let Chunk { source, number, lines_before, lines, accepted, rejected, data } = chunk;
    let mut tx = store.begin().await?;
    let progress =
        sql("UPDATE activity_imports SET lines = $1, accepted = accepted + $2, rejected = rejected + $3 \
         WHERE source = $4 AND lines = $5 AND finished_at IS NULL");
    let progress = progress.bind(lines_before + lines).bind(accepted).bind(rejected);
    if tx.execute(progress.bind(&source).bind(lines_before)).await? == 0 {
        return Ok(false);
    }
    let insert = sql("INSERT INTO activity_chunks (source, number, data) VALUES ($1, $2, $3)");
    tx.execute(insert.bind(source).bind(number).bind(data)).await?;
    tx.commit().await?;
    Ok(true)
}

/// Marks a file as completely read. Returns false if it already was.
pub async fn finish_import(
    executor: impl Executor,
    source: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_imports SET finished_at = $1 WHERE source = $2 AND finished_at IS NULL");
    Ok(executor.execute(query.bind(now).bind(source)).await? == 1)
}

/// Deletes an import and its transfers. Returns true if it existed.
pub async fn remove_import(executor: impl Executor, source: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM activity_imports WHERE source = $1");
    Ok(executor.execute(query.bind(source)).await? == 1)
}

/// All chunks by file and number, in import order.
pub async fn chunks(executor: impl Executor) -> Result<Vec<(String, i64)>, StoreError> {
    let query = sql("SELECT c.source, c.number FROM activity_chunks c \
         JOIN activity_imports i ON i.source = c.source ORDER BY i.started_at, c.source, c.number");
    executor.all(query).await
}

/// Encoded transfers of a chunk.
pub async fn chunk(
    executor: impl Executor,
    source: &str,
    number: i64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sql("SELECT data FROM activity_chunks WHERE source = $1 AND number = $2");
    let found: Vec<(Vec<u8>,)> = executor.all(query.bind(source).bind(number)).await?;
    Ok(found.into_iter().next().map(|(data,)| data))
}

/// Stores features of wallets, replacing earlier ones.
pub async fn put_wallets(executor: impl Executor, wallets: Vec<WalletRow>) -> Result<u64, StoreError> {
    let row = |wallet: WalletRow| vec![wallet.address.bind(), wallet.digest.bind(), wallet.features.bind()];
    let rows: Rows = wallets.into_iter().map(row).collect();
    executor
        .execute_each(
            "INSERT INTO activity_wallets (address, digest, features) VALUES ($1, $2, $3) \
             ON CONFLICT (address) DO UPDATE SET digest = excluded.digest, features = excluded.features"
                .into(),
            rows,
        )
        .await
}

/// Deletes the features of wallets.
pub async fn remove_wallets(executor: impl Executor, wallets: &[EvmAddress]) -> Result<u64, StoreError> {
    let rows: Rows = wallets.iter().map(|address| vec![address.bind()]).collect();
    executor.execute_each("DELETE FROM activity_wallets WHERE address = $1".into(), rows).await
}

/// All wallets with the digests of their features.
pub async fn digests(executor: impl Executor) -> Result<Vec<(EvmAddress, i64)>, StoreError> {
    executor.all(sql("SELECT address, digest FROM activity_wallets ORDER BY address")).await
}

/// Encoded features of a wallet.
pub async fn wallet(executor: impl Executor, address: EvmAddress) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sql("SELECT features FROM activity_wallets WHERE address = $1");
    let found: Option<(Vec<u8>,)> = executor.optional(query.bind(address)).await?;
    Ok(found.map(|(features,)| features))
}

/// Encoded features of those wallets that have any.
pub async fn wallets(
    executor: impl Executor,
    addresses: &[EvmAddress],
) -> Result<Vec<WalletRow>, StoreError> {
    let engine = executor.engine();
    let query = sql("SELECT address, digest, features FROM activity_wallets WHERE 1 = 1");
    executor.all(query.and_in(engine, "address", addresses.iter().copied())).await
}

/// Stores data about addresses, replacing earlier data.
pub async fn put_parties(executor: impl Executor, known: &[PartyRow]) -> Result<u64, StoreError> {
    let row = |known: &PartyRow| {
        vec![known.address.bind(), known.parties.bind(), known.own.bind(), known.seen.bind()]
    };
    let rows: Rows = known.iter().map(row).collect();
    executor
        .execute_each(
            "INSERT INTO activity_parties (address, parties, own, seen) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (address) DO UPDATE \
             SET parties = excluded.parties, own = excluded.own, seen = excluded.seen"
                .into(),
            rows,
        )
        .await
}

/// Deletes the data about addresses.
pub async fn remove_parties(executor: impl Executor, addresses: &[EvmAddress]) -> Result<u64, StoreError> {
    let rows: Rows = addresses.iter().map(|address| vec![address.bind()]).collect();
    executor.execute_each("DELETE FROM activity_parties WHERE address = $1".into(), rows).await
}

/// Data about all addresses.
pub async fn all_parties(executor: impl Executor) -> Result<Vec<PartyRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", party_columns!(), " FROM activity_parties ORDER BY address"))).await
}

/// Numbers of counterparties, for those addresses that are known.
pub async fn parties(
    executor: impl Executor,
    addresses: &[EvmAddress],
) -> Result<Vec<(EvmAddress, i64)>, StoreError> {
    let engine = executor.engine();
    let query = sql("SELECT address, parties FROM activity_parties WHERE 1 = 1");
    executor.all(query.and_in(engine, "address", addresses.iter().copied())).await
}

/// Starts a computation of wallet features. Earlier runs are superseded.
pub async fn begin_run(store: &Store) -> Result<Run, StoreError> {
    let query = sql("INSERT INTO activity_state AS s (id, run, mark, world) VALUES (1, 1, '', 0) \
         ON CONFLICT (id) DO UPDATE SET run = s.run + 1, mark = '', \
         world = CASE WHEN s.mark = '' THEN 0 ELSE s.world END RETURNING run, world");
    let begun: Vec<(i64, i64)> = store.returning(query).await?;
    begun
        .first()
        .map(|(number, digest)| Run { number: *number, global_fingerprint: *digest })
        .ok_or(StoreError::Aborted)
}

/// True if a run is still the newest. Call it in the transaction that writes results, so that a superseded run writes
/// nothing more.
pub async fn hold_run(tx: &mut Tx, run: Run) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_state SET mark = '' WHERE run = $1");
    Ok(tx.execute(query.bind(run.number)).await? == 1)
}

/// Records the state that the features now reflect, and the digest of the data shared by all wallets. Returns true if
/// the run is still the newest.
pub async fn end_run(tx: &mut Tx, run: Run, mark: &str, global_fingerprint: i64) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_state SET mark = $1, world = $2 WHERE run = $3");
    Ok(tx.execute(query.bind(mark).bind(global_fingerprint).bind(run.number)).await? == 1)
}

/// The state recorded by [`end_run`]. `None` if no run has finished since the last one began.
pub async fn read_run_state(executor: impl Executor) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = executor.optional(sql("SELECT mark FROM activity_state")).await?;
    Ok(found.map(|(mark,)| mark).filter(|mark| !mark.is_empty()))
}

/// Deletes the stored features of an address, and suspected groups that name it. Returns the number of rows.
pub async fn forget_address(tx: &mut Tx, address: EvmAddress) -> Result<u64, StoreError> {
    let wallets = tx.execute(sql("DELETE FROM activity_wallets WHERE address = $1").bind(address)).await?;
    let parties = tx.execute(sql("DELETE FROM activity_parties WHERE address = $1").bind(address)).await?;
    let is_member = if tx.is_sqlite() { "instr(members, $2) > 0" } else { "position($2 in members) > 0" };
    let groups = sql("DELETE FROM suspect_groups WHERE document LIKE $1 OR ").append(is_member);
    let groups = tx.execute(groups.bind(format!("%{address}%")).bind(address)).await?;
    Ok(wallets + parties + groups)
}

/// Replaces the transfers of a chunk, unless they changed since `before` was read. Returns true if they did not.
pub async fn replace_chunk(
    tx: &mut Tx,
    (source, number): (&str, i64),
    before: Vec<u8>,
    after: Vec<u8>,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_chunks SET data = $1 WHERE source = $2 AND number = $3 AND data = $4");
    Ok(tx.execute(query.bind(after).bind(source).bind(number).bind(before)).await? == 1)
}

/// Supersedes a running computation of features, and makes the stored ones stale.
pub async fn supersede_run(tx: &mut Tx) -> Result<(), StoreError> {
    tx.execute(sql("UPDATE activity_state SET run = run + 1, mark = '', world = 0")).await.map(drop)
}
