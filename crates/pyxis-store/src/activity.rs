//! Activity of wallets: transfers as they came, and what models see of each wallet. Public data, the same
//! for every workspace.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

use crate::db::{Bind, FromRow, Row, Rows, row, sql};
use crate::{Executor, Store, StoreError, Tx};

row! {
    /// A file of activity and how far its import got.
    pub ImportRow: "activity_imports", import_columns {
        /// SHA-256 of its bytes, hex.
        source: String,
        /// Its name, for people.
        name: String,
        /// Lines read.
        lines: i64,
        /// Of those, taken.
        accepted: i64,
        /// Of those, refused.
        rejected: i64,
        /// When it began.
        started_at: UnixMillis,
        /// When it was all read.
        finished_at: Option<UnixMillis>,
    }
}

/// Transfers that were read together, and how far the file is read with them.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The file.
    pub source: String,
    /// Its place in the file: 0, 1, 2 …
    pub number: i64,
    /// Lines read before it.
    pub lines_before: i64,
    /// Lines read with it.
    pub lines: i64,
    /// Lines taken with it.
    pub accepted: i64,
    /// Lines refused with it.
    pub rejected: i64,
    /// The transfers.
    pub data: Vec<u8>,
}

/// What models see of a wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletRow {
    /// The wallet.
    pub address: EvmAddress,
    /// Changes with the features.
    pub digest: i64,
    /// What models see.
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
    /// What is known of an address that was imported, whether it ever sent anything or not.
    pub PartyRow: "activity_parties", party_columns {
        /// The address.
        address: EvmAddress,
        /// With how many distinct addresses it exchanged anything.
        parties: i64,
        /// Changes with its transfers.
        own: i64,
        /// Changes with what the features of others see of it.
        seen: i64,
    }
}

/// A computation of what models see of wallets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its number: the highest is the newest.
    pub number: i64,
    /// What the computation before it left as the sign of what all wallets look at; 0 where it did not come to its
    /// end.
    pub world: i64,
}

/// Notes that an import begins, unless it is known; its row.
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

/// Every import, newest first.
pub async fn list_imports(executor: impl Executor) -> Result<Vec<ImportRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", import_columns!(), " FROM activity_imports ORDER BY started_at DESC, source"));
    executor.all(query).await
}

/// Stores a chunk together with how far its file is read; whether nobody else had read that far.
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

/// Notes that a file is all read; whether it was not yet.
pub async fn finish_import(
    executor: impl Executor,
    source: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_imports SET finished_at = $1 WHERE source = $2 AND finished_at IS NULL");
    Ok(executor.execute(query.bind(now).bind(source)).await? == 1)
}

/// Forgets an import and its transfers; whether it was known.
pub async fn remove_import(executor: impl Executor, source: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM activity_imports WHERE source = $1");
    Ok(executor.execute(query.bind(source)).await? == 1)
}

/// Every chunk, by file and number, in the order in which they came.
pub async fn chunks(executor: impl Executor) -> Result<Vec<(String, i64)>, StoreError> {
    let query = sql("SELECT c.source, c.number FROM activity_chunks c \
         JOIN activity_imports i ON i.source = c.source ORDER BY i.started_at, c.source, c.number");
    executor.all(query).await
}

/// The transfers of a chunk.
pub async fn chunk(
    executor: impl Executor,
    source: &str,
    number: i64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sql("SELECT data FROM activity_chunks WHERE source = $1 AND number = $2");
    let found: Vec<(Vec<u8>,)> = executor.all(query.bind(source).bind(number)).await?;
    Ok(found.into_iter().next().map(|(data,)| data))
}

/// Stores what models see of wallets, in place of what they saw.
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

/// Forgets wallets.
pub async fn remove_wallets(executor: impl Executor, wallets: &[EvmAddress]) -> Result<u64, StoreError> {
    let rows: Rows = wallets.iter().map(|address| vec![address.bind()]).collect();
    executor.execute_each("DELETE FROM activity_wallets WHERE address = $1".into(), rows).await
}

/// Every wallet with the digest of what models see.
pub async fn digests(executor: impl Executor) -> Result<Vec<(EvmAddress, i64)>, StoreError> {
    executor.all(sql("SELECT address, digest FROM activity_wallets ORDER BY address")).await
}

/// What models see of a wallet.
pub async fn wallet(executor: impl Executor, address: EvmAddress) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sql("SELECT features FROM activity_wallets WHERE address = $1");
    let found: Option<(Vec<u8>,)> = executor.optional(query.bind(address)).await?;
    Ok(found.map(|(features,)| features))
}

/// What models see of those of many wallets that are known.
pub async fn wallets(
    executor: impl Executor,
    addresses: &[EvmAddress],
) -> Result<Vec<WalletRow>, StoreError> {
    let engine = executor.engine();
    let query = sql("SELECT address, digest, features FROM activity_wallets WHERE 1 = 1");
    executor.all(query.and_in(engine, "address", addresses.iter().copied())).await
}

/// Stores what is known of addresses, in place of what was.
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

/// Forgets what is known of addresses.
pub async fn remove_parties(executor: impl Executor, addresses: &[EvmAddress]) -> Result<u64, StoreError> {
    let rows: Rows = addresses.iter().map(|address| vec![address.bind()]).collect();
    executor.execute_each("DELETE FROM activity_parties WHERE address = $1".into(), rows).await
}

/// What is known of every address.
pub async fn all_parties(executor: impl Executor) -> Result<Vec<PartyRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", party_columns!(), " FROM activity_parties ORDER BY address"))).await
}

/// Those of some addresses that are known, with their numbers of counterparties.
pub async fn parties(
    executor: impl Executor,
    addresses: &[EvmAddress],
) -> Result<Vec<(EvmAddress, i64)>, StoreError> {
    let engine = executor.engine();
    let query = sql("SELECT address, parties FROM activity_parties WHERE 1 = 1");
    executor.all(query.and_in(engine, "address", addresses.iter().copied())).await
}

/// Notes that what models see of wallets is computed from now on. Computations before it are overtaken.
pub async fn begin_run(store: &Store) -> Result<Run, StoreError> {
    let query = sql("INSERT INTO activity_state AS s (id, run, mark, world) VALUES (1, 1, '', 0) \
         ON CONFLICT (id) DO UPDATE SET run = s.run + 1, mark = '', \
         world = CASE WHEN s.mark = '' THEN 0 ELSE s.world END RETURNING run, world");
    let begun: Vec<(i64, i64)> = store.returning(query).await?;
    begun.first().map(|(number, world)| Run { number: *number, world: *world }).ok_or(StoreError::Aborted)
}

/// True if a computation is still the newest. Within the transaction that writes what it found, so that one
/// that was overtaken writes nothing more.
pub async fn hold_run(tx: &mut Tx, run: Run) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_state SET mark = '' WHERE run = $1");
    Ok(tx.execute(query.bind(run.number)).await? == 1)
}

/// Notes of what everything is now, and the sign of what all wallets look at; whether the computation is still the
/// newest.
pub async fn end_run(tx: &mut Tx, run: Run, mark: &str, world: i64) -> Result<bool, StoreError> {
    let query = sql("UPDATE activity_state SET mark = $1, world = $2 WHERE run = $3");
    Ok(tx.execute(query.bind(mark).bind(world).bind(run.number)).await? == 1)
}

/// Of what everything is, as [`end_run`] noted it; `None` where nothing was ever computed, or not to its end.
pub async fn mark(executor: impl Executor) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = executor.optional(sql("SELECT mark FROM activity_state")).await?;
    Ok(found.map(|(mark,)| mark).filter(|mark| !mark.is_empty()))
}
