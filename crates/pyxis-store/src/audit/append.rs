//! Appends to the chain within a transaction. [`Appender`](super::Appender) uses its own transactions.

use std::sync::Arc;

use super::{AuditKeys, AuditRecord, ChainMac};
use crate::db::sqlite::Session;
use crate::db::{Rows, Value, sql};
use crate::{Executor, StoreError, Tx};

const INSERT: &str = "INSERT INTO audit_records (seq, at, workspace_id, kind, ref_seq, actor, actor_name, credential, \
     decision, method, host, txn_id, grant_id, status, detail, mac) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
/// [`INSERT`] of many rows, each parameter with the values of a column. On PostgreSQL the messages of a statement per row
/// took half of the CPU of a commit.
const INSERT_COLUMNS: &str = "INSERT INTO audit_records (seq, at, workspace_id, kind, ref_seq, actor, actor_name, \
     credential, decision, method, host, txn_id, grant_id, status, detail, mac) \
     SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[], $5::BIGINT[], $6::TEXT[], $7::TEXT[], \
     $8::TEXT[], $9::TEXT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[], $14::BIGINT[], $15::TEXT[], \
     $16::BYTEA[])";
const HEAD: &str = "SELECT seq, mac FROM audit_head WHERE id = 1";
pub(super) const HEAD_LOCKED: &str = "SELECT seq, mac FROM audit_head WHERE id = 1 FOR UPDATE";
const SET_HEAD: &str = "UPDATE audit_head SET seq = $1, mac = $2 WHERE id = 1";

/// Appends in the transaction of the recorded change, so that both or neither are stored. Returns the sequence numbers.
/// Other appends wait until the transaction ends.
pub async fn append_in(
    tx: &mut Tx,
    keys: &AuditKeys,
    records: &[AuditRecord],
) -> Result<Vec<i64>, StoreError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
    let first = append_all(tx, Arc::new(keys.clone()), records.to_vec()).await?;
    Ok((first..first.saturating_add(count)).collect())
}

async fn append_all(tx: &mut Tx, keys: Arc<AuditKeys>, records: Vec<AuditRecord>) -> Result<i64, StoreError> {
    if tx.is_sqlite() {
        return tx.on_sqlite(move |session| append_on(session, &keys, records)).await;
    }
    let head = (&mut *tx).optional(sql(HEAD_LOCKED)).await?;
    append_after(tx, head, &keys, records).await
}

/// Appends on PostgreSQL after a head that this transaction has locked.
pub(super) async fn append_after(
    tx: &mut Tx,
    head: Option<(i64, Vec<u8>)>,
    keys: &AuditKeys,
    records: Vec<AuditRecord>,
) -> Result<i64, StoreError> {
    let links = Links::after(head, keys, records)?;
    let head = links.head;
    let first = links.first;
    (&mut *tx).execute_each(INSERT_COLUMNS.into(), vec![columns(links.rows)]).await?;
    tx.execute(sql(SET_HEAD).bind(head.0).bind(head.1.to_vec())).await?;
    Ok(first)
}

/// The columns of rows that have equally many values.
fn columns(rows: Rows) -> Vec<Value> {
    let width = rows.first().map_or(0, Vec::len);
    let mut columns: Vec<Vec<Value>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns.into_iter().map(Value::List).collect()
}

pub(super) fn append_on(
    session: &Session<'_>,
    keys: &AuditKeys,
    records: Vec<AuditRecord>,
) -> Result<i64, StoreError> {
    let links = Links::after(session.optional(&sql(HEAD))?, keys, records)?;
    session.execute_each(INSERT, &links.rows)?;
    session.execute(&sql(SET_HEAD).bind(links.head.0).bind(links.head.1.to_vec()))?;
    Ok(links.first)
}

/// New chain links, ready to be stored.
struct Links {
    first: i64,
    rows: Rows,
    head: (i64, ChainMac),
}

impl Links {
    fn after(
        head: Option<(i64, Vec<u8>)>,
        keys: &AuditKeys,
        records: Vec<AuditRecord>,
    ) -> Result<Self, StoreError> {
        let corrupt = || StoreError::Corrupt { table: "audit_head", column: "mac", row: "1".to_owned() };
        let (mut seq, mac) = head.ok_or_else(corrupt)?;
        let mut mac: ChainMac = mac.try_into().map_err(|_| corrupt())?;
        let first = seq + 1;
        let mut scratch = Vec::with_capacity(512);
        let mut rows = Vec::with_capacity(records.len());
        for record in records {
            seq += 1;
            mac = keys.chain(&mut scratch, seq, &record, &mac);
            rows.push(record.into_values(seq, &mac));
        }
        Ok(Self { first, rows, head: (seq, mac) })
    }
}
