//! Appending: in the transaction of the decision, or through a task that commits whatever waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{AuditKeys, ChainMac, Record};
use crate::db::sqlite::Session;
use crate::db::{Backend, Rows, sql};
use crate::error::Closed;
use crate::{Executor, Store, StoreError, Tx, generations};

/// Records that may wait before `append_later` waits too.
const QUEUE: usize = 8192;
/// How long a record that nobody waits for may wait for company.
const PATIENCE: Duration = Duration::from_millis(5);
/// Most records in one commit.
const GROUP: usize = 512;
/// Most commits at a time: one that the disk works on, and one that SQLite does.
const COMMITS: u32 = 2;

const INSERT: &str = "INSERT INTO audit_records (seq, at, workspace_id, kind, ref_seq, actor, actor_name, credential, \
     decision, method, host, txn_id, grant_id, status, detail, mac) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
const HEAD: &str = "SELECT seq, mac FROM audit_head WHERE id = 1";
const HEAD_LOCKED: &str = "SELECT seq, mac FROM audit_head WHERE id = 1 FOR UPDATE";
const SET_HEAD: &str = "UPDATE audit_head SET seq = $1, mac = $2 WHERE id = 1";

/// Appends in the transaction of what is recorded, so that both or neither are stored; the sequence
/// numbers. Other appends wait until the transaction ends.
pub async fn append_in(tx: &mut Tx, keys: &AuditKeys, records: &[Record]) -> Result<Vec<i64>, StoreError> {
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
    let first = append_all(tx, Arc::new(keys.clone()), records.to_vec()).await?;
    Ok((first..first.saturating_add(count)).collect())
}

async fn append_all(tx: &mut Tx, keys: Arc<AuditKeys>, records: Vec<Record>) -> Result<i64, StoreError> {
    if tx.is_sqlite() {
        return tx.on_sqlite(move |session| append_on(session, &keys, records)).await;
    }
    let head = (&mut *tx).optional(sql(HEAD_LOCKED)).await?;
    append_after(tx, head, &keys, records).await
}

/// On PostgreSQL, after a head that this transaction has locked.
async fn append_after(
    tx: &mut Tx,
    head: Option<(i64, Vec<u8>)>,
    keys: &AuditKeys,
    records: Vec<Record>,
) -> Result<i64, StoreError> {
    let links = Links::after(head, keys, records)?;
    let head = links.head;
    let first = links.first;
    (&mut *tx).execute_each(INSERT.into(), links.rows).await?;
    tx.execute(sql(SET_HEAD).bind(head.0).bind(head.1.to_vec())).await?;
    Ok(first)
}

fn append_on(session: &Session<'_>, keys: &AuditKeys, records: Vec<Record>) -> Result<i64, StoreError> {
    let links = Links::after(session.optional(&sql(HEAD))?, keys, records)?;
    session.execute_each(INSERT, &links.rows)?;
    session.execute(&sql(SET_HEAD).bind(links.head.0).bind(links.head.1.to_vec()))?;
    Ok(links.first)
}

/// New links of the chain, ready to be stored.
struct Links {
    first: i64,
    rows: Rows,
    head: (i64, ChainMac),
}

impl Links {
    fn after(
        head: Option<(i64, Vec<u8>)>,
        keys: &AuditKeys,
        records: Vec<Record>,
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

/// The number of the record, or `None` where the configuration had moved on.
type Answer = oneshot::Sender<Result<Option<i64>, StoreError>>;

/// A record with the configuration that it is true under; `None`: under any.
struct Item {
    record: Record,
    generation: Option<i64>,
}

#[expect(clippy::large_enum_variant, reason = "nearly every message is a record, a box would cost each")]
enum Message {
    Append(Item, Option<Answer>),
    Flush(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

impl Message {
    fn can_wait(&self) -> bool {
        matches!(self, Self::Append(_, None))
    }
}

/// Appends for everybody: takes all records that wait into one transaction. While somebody waits it
/// never waits for more.
///
/// Inside a transaction use [`append_in`]: on SQLite the transaction holds the writer that this task
/// needs, so awaiting [`Appender::append`] there would wait for itself.
#[derive(Clone, Debug)]
pub struct Appender {
    queue: mpsc::Sender<Message>,
}

impl Appender {
    /// Starts the task. It ends after [`Appender::stop`], or when the last clone is gone.
    pub fn start(store: Store, keys: AuditKeys) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        drop(tokio::spawn(serve(store, Arc::new(keys), waiting)));
        Self { queue }
    }

    /// Appends and returns the sequence number once the record is durable.
    pub async fn append(&self, record: Record) -> Result<i64, StoreError> {
        let seq = self.ask(Item { record, generation: None }).await?;
        seq.ok_or(StoreError::Aborted)
    }

    /// Appends only if the configuration is still of `generation` in the transaction that stores the
    /// record: what was decided from configuration in memory then stands. `None`: it is not, nothing
    /// was stored, decide again.
    pub async fn append_under(&self, record: Record, generation: i64) -> Result<Option<i64>, StoreError> {
        self.ask(Item { record, generation: Some(generation) }).await
    }

    async fn ask(&self, item: Item) -> Result<Option<i64>, StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Message::Append(item, Some(answer))).await?;
        done.await.map_err(|_| StoreError::unavailable(Closed))?
    }

    /// Hands a record over without waiting until it is durable; waits only when too many are waiting.
    /// A failure to store it is logged.
    pub async fn append_later(&self, record: Record) -> Result<(), StoreError> {
        self.send(Message::Append(Item { record, generation: None }, None)).await
    }

    /// Hands a record over from where nothing can be awaited (a destructor). If too many are waiting, a
    /// task waits in its place.
    pub fn append_detached(&self, record: Record) {
        let message = Message::Append(Item { record, generation: None }, None);
        if let Err(mpsc::error::TrySendError::Full(message)) = self.queue.try_send(message) {
            let queue = self.queue.clone();
            drop(tokio::spawn(async move { queue.send(message).await }));
        }
    }

    /// Returns when everything handed over before is stored.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Message::Flush(answer)).await?;
        done.await.map_err(|_| StoreError::unavailable(Closed))
    }

    /// Stores what waits and ends the task; later appends are refused.
    pub async fn stop(&self) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.send(Message::Stop(answer)).await?;
        done.await.map_err(|_| StoreError::unavailable(Closed))
    }

    async fn send(&self, message: Message) -> Result<(), StoreError> {
        self.queue.send(message).await.map_err(|_| StoreError::unavailable(Closed))
    }
}

async fn serve(store: Store, keys: Arc<AuditKeys>, mut waiting: mpsc::Receiver<Message>) {
    let room = Arc::new(Semaphore::new(COMMITS as usize));
    let mut messages = Vec::with_capacity(GROUP);
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        if waiting.recv_many(&mut messages, GROUP).await == 0 {
            return;
        }
        gather(&mut messages, &mut waiting).await;
        let (mut items, mut answers) =
            (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
        let mut acknowledge = Vec::new();
        for message in messages.drain(..) {
            match message {
                Message::Append(item, answer) => {
                    items.push(item);
                    answers.push(answer);
                }
                Message::Flush(answer) => acknowledge.push(answer),
                Message::Stop(answer) => {
                    waiting.close();
                    acknowledge.push(answer);
                }
            }
        }
        if items.is_empty() {
            drop(permit);
        } else {
            commit(&store, &keys, items, answers, permit).await;
        }
        if !acknowledge.is_empty() {
            // When the commits before have ended.
            drop(room.acquire_many(COMMITS).await);
        }
        for answer in acknowledge {
            // Nobody waiting any more is fine.
            let _ = answer.send(());
        }
    }
}

/// What nobody waits for costs no commit of its own: it goes along with the next record that somebody
/// does wait for, unless none comes for [`PATIENCE`].
async fn gather(messages: &mut Vec<Message>, waiting: &mut mpsc::Receiver<Message>) {
    let patience = tokio::time::sleep(PATIENCE);
    tokio::pin!(patience);
    while messages.len() < GROUP && messages.iter().all(Message::can_wait) {
        let room = GROUP - messages.len();
        tokio::select! {
            more = waiting.recv_many(messages, room) => if more == 0 { return },
            () = &mut patience => return,
        }
    }
}

/// Commits and tells, on SQLite without waiting for the disk here.
async fn commit(
    store: &Store,
    keys: &Arc<AuditKeys>,
    items: Vec<Item>,
    answers: Vec<Option<Answer>>,
    permit: OwnedSemaphorePermit,
) {
    let keys = Arc::clone(keys);
    let Backend::Sqlite(database) = store.backend() else {
        tell(answers, commit_on_postgres(store, &keys, items).await);
        return;
    };
    let work = move |session: &Session<'_>| {
        let generation = session.optional(&generations::query())?;
        let (records, mut numbers) = still_true(items, generation);
        if !records.is_empty() {
            number(&mut numbers, append_on(session, &keys, records)?);
        }
        Ok(numbers)
    };
    // Told from here: whoever waits is then woken by a thread that runs them, and not one by one from outside.
    let runtime = Handle::current();
    let then = move |outcome| {
        drop(runtime.spawn(async move {
            tell(answers, outcome);
            drop(permit);
        }));
    };
    database.write_atomic_then(work, then);
}

async fn commit_on_postgres(
    store: &Store,
    keys: &AuditKeys,
    items: Vec<Item>,
) -> Result<Vec<Option<i64>>, StoreError> {
    let mut tx = store.begin().await?;
    // The lock comes first. A change of configuration holds it while it commits: read before, the
    // generation could be that of the time before a change which was answered before this commit.
    let head = (&mut tx).optional(sql(HEAD_LOCKED)).await?;
    let generation = (&mut tx).optional(generations::query()).await?;
    let (records, mut numbers) = still_true(items, generation);
    if !records.is_empty() {
        number(&mut numbers, append_after(&mut tx, head, keys, records).await?);
    }
    tx.commit().await?;
    Ok(numbers)
}

/// The records to store, and a place for the number of each item: `Some` where it is stored.
fn still_true(items: Vec<Item>, generation: Option<(i64,)>) -> (Vec<Record>, Vec<Option<i64>>) {
    let now = generation.map(|(generation,)| generation);
    let mut records = Vec::with_capacity(items.len());
    let mut numbers = Vec::with_capacity(items.len());
    for item in items {
        let holds = item.generation.is_none() || item.generation == now;
        numbers.push(holds.then_some(0));
        if holds {
            records.push(item.record);
        }
    }
    (records, numbers)
}

fn number(numbers: &mut [Option<i64>], first: i64) {
    for (seq, number) in (first..).zip(numbers.iter_mut().flatten()) {
        *number = seq;
    }
}

fn tell(answers: Vec<Option<Answer>>, outcome: Result<Vec<Option<i64>>, StoreError>) {
    match outcome {
        Ok(numbers) => {
            for (answer, number) in answers.into_iter().zip(numbers) {
                if let Some(answer) = answer {
                    drop(answer.send(Ok(number)));
                }
            }
        }
        Err(error) => {
            let count = answers.len();
            tracing::error!(%error, count, "audit records could not be stored");
            for answer in answers.into_iter().flatten() {
                drop(answer.send(Err(error.clone())));
            }
        }
    }
}
