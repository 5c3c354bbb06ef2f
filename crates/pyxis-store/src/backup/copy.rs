//! Copies all tables into a transaction.

use std::path::{Path, PathBuf};

use futures_util::{TryStreamExt, pin_mut};
use rusqlite::OpenFlags;
use tokio::sync::mpsc;

use super::{BackupProgress, TABLES};
use crate::db::postgres::Transaction;
use crate::db::sqlite::{self, Session};
use crate::db::{Bind, Row, Rows, SqlQuery, Value, sql};
use crate::{Executor, StoreError, Tx};

/// Maximum rows of a batch. Bytes are limited too, since a stored body may be large.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 8 << 20;

#[derive(Clone, Copy)]
enum Kind {
    Int,
    Text,
    Bytes,
    Bool,
}

impl Kind {
    /// Value kind of a column type as declared in either engine.
    fn from_declared(declared: &str) -> Option<Self> {
        Some(match declared {
            "INTEGER" | "BIGINT" | "bigint" => Self::Int,
            "TEXT" | "text" => Self::Text,
            "BLOB" | "bytea" => Self::Bytes,
            "boolean" => Self::Bool,
            _ => return None,
        })
    }

    const fn null(self) -> Value {
        match self {
            Self::Int => Value::Int(None),
            Self::Text => Value::Text(None),
            Self::Bytes => Value::Bytes(None),
            Self::Bool => Value::Bool(None),
        }
    }
}

/// A table as declared in the target.
#[derive(Clone)]
struct Table {
    name: &'static str,
    columns: Vec<(String, Kind)>,
}

impl Table {
    async fn describe(tx: &mut Tx, name: &'static str) -> Result<Self, StoreError> {
        let query = if tx.is_sqlite() {
            sql("SELECT name, type FROM pragma_table_info($1) ORDER BY cid")
        } else {
            sql("SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT) FROM information_schema.columns \
                 WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position")
        };
        let found: Vec<(String, String)> = tx.all(query.bind(name)).await?;
        let columns =
            found.into_iter().map(|(column, declared)| Some((column, Kind::from_declared(&declared)?)));
        let columns = columns.collect::<Option<_>>();
        let columns =
            columns.ok_or_else(|| StoreError::Backup(format!("{name} has a column of unknown type")))?;
        Ok(Self { name, columns })
    }

    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.names(), self.name)
    }

    fn insert(&self) -> String {
        let numbers: Vec<String> = (1..=self.columns.len()).map(|number| format!("${number}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", self.name, self.names(), numbers.join(", "))
    }

    /// Converts a row to the target's types. Also returns its approximate size in bytes.
    fn convert(&self, row: &mut Row<'_>) -> Result<(Vec<Value>, usize), StoreError> {
        let mut size = 0;
        let mut values = Vec::with_capacity(self.columns.len());
        for (_, kind) in &self.columns {
            let value = match kind {
                Kind::Int => row.take_int()?.map_or(kind.null(), Bind::bind),
                Kind::Bool => row.take::<Option<bool>>("value")?.map_or(kind.null(), Bind::bind),
                Kind::Text => {
                    let text: Option<String> = row.take("value")?;
                    size += text.as_ref().map_or(0, String::len);
                    text.bind()
                }
                Kind::Bytes => {
                    let bytes: Option<Vec<u8>> = row.take("value")?;
                    size += bytes.as_ref().map_or(0, Vec::len);
                    bytes.bind()
                }
            };
            values.push(value);
        }
        Ok((values, size))
    }
}

#[derive(Default)]
struct Batch {
    rows: Rows,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, (row, bytes): (Vec<Value>, usize)) {
        self.rows.push(row);
        self.bytes += bytes;
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    fn take(&mut self) -> Rows {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// Writes batches and counts them.
struct Sink<'a, P> {
    tx: &'a mut Tx,
    done: u64,
    progress: &'a mut P,
}

impl<P: FnMut(BackupProgress) + Send> Sink<'_, P> {
    async fn write(&mut self, table: &Table, rows: Rows) -> Result<(), StoreError> {
        self.done += rows.len() as u64;
        (&mut *self.tx).execute_each(table.insert().into(), rows).await?;
        (self.progress)(BackupProgress { done: self.done, total: None });
        Ok(())
    }
}

/// Copies from a PostgreSQL snapshot.
pub(super) async fn from_postgres(
    source: &Transaction,
    tx: &mut Tx,
    progress: &mut (impl FnMut(BackupProgress) + Send),
) -> Result<(), StoreError> {
    let mut sink = Sink { tx, done: 0, progress };
    for name in TABLES {
        let table = Table::describe(sink.tx, name).await?;
        let none: [i64; 0] = [];
        let rows = source.answer(source.client()?.query_raw(&table.select(), none)).await?;
        pin_mut!(rows);
        let mut batch = Batch::default();
        while let Some(row) = source.answer(rows.try_next()).await? {
            batch.push(table.convert(&mut Row::postgres(&row, name))?);
            if batch.is_full() {
                sink.write(&table, batch.take()).await?;
            }
        }
        sink.write(&table, batch.take()).await?;
    }
    Ok(())
}

/// Copies from a backup file, which is read on a blocking thread.
pub(super) async fn from_sqlite(
    path: &Path,
    tx: &mut Tx,
    progress: &mut (impl FnMut(BackupProgress) + Send),
) -> Result<(), StoreError> {
    let mut sink = Sink { tx, done: 0, progress };
    for name in TABLES {
        let table = Table::describe(sink.tx, name).await?;
        let (batches, mut waiting) = mpsc::channel(1);
        let (file, wanted) = (path.to_owned(), table.clone());
        let reader = tokio::task::spawn_blocking(move || read_table(&file, &wanted, &batches));
        while let Some(rows) = waiting.recv().await {
            sink.write(&table, rows).await?;
        }
        reader.await.map_err(StoreError::unavailable)??;
    }
    Ok(())
}

fn read_table(path: &PathBuf, table: &Table, batches: &mpsc::Sender<Rows>) -> Result<(), StoreError> {
    let connection = rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(sqlite::failure)?;
    let mut batch = Batch::default();
    let send = |rows| batches.blocking_send(rows).map_err(StoreError::unavailable);
    Session::new(&connection).for_each(&SqlQuery::assembled(table.select()), table.name, |row| {
        batch.push(table.convert(row)?);
        if batch.is_full() { send(batch.take()) } else { Ok(()) }
    })?;
    send(batch.take())
}
