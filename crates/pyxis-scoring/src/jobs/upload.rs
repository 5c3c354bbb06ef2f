//! Uploads: a file becomes the chunks of a job, in constant memory.

use std::fs::File;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use pyxis_core::BoxError;
use pyxis_core::id::{NodeId, ScoreJobId};
use pyxis_models::activity_reader::{AddressCell, AddressReader};
use pyxis_store::StoreError;
use pyxis_store::score_jobs::{self, NewChunk};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::CHUNK;
use super::rows::{BadAddress, InputRow};
use crate::address;
use crate::state::{JobConfig, State};

/// Chunks stored in one transaction.
const STORED_TOGETHER: usize = 16;

/// Reasons that an upload is refused or fails.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The file is too long.
    #[error("the file has more than {0} bytes; split it, or raise score_job_upload_max_bytes")]
    TooLarge(u64),
    /// The file has too many rows.
    #[error("the file has more than {0} rows; split it, or raise score_job_rows_max")]
    TooManyRows(u64),
    /// The file has no rows.
    #[error("the file has no addresses; write one in each line, or name a column address")]
    Empty,
    /// No row is an address.
    #[error(
        "no row has an address in {column}; name the column of addresses `address`. The first row there: {reason}"
    )]
    NoAddress {
        /// The column that was read.
        column: String,
        /// Fault of its first row.
        reason: String,
    },
    /// It is no list.
    #[error("{0}")]
    Unreadable(String),
    /// The client went away.
    #[error("the upload ended early; send the file again")]
    Broken(#[source] BoxError),
    /// The upload took so long that it was given up.
    #[error("the upload was given up; send the file again")]
    GivenUp,
    /// The file cannot be kept while it is read.
    #[error("cannot keep the upload")]
    Disk(#[source] std::io::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Copies an upload to a file without a name, which ends with its handle.
pub(crate) async fn spool<E: Into<BoxError>>(
    config: &JobConfig,
    body: impl Stream<Item = Result<Bytes, E>>,
) -> Result<File, UploadError> {
    let file = match &config.spool {
        Some(directory) => tempfile::tempfile_in(directory),
        None => tempfile::tempfile(),
    };
    let mut file = tokio::fs::File::from_std(file.map_err(UploadError::Disk)?);
    let mut length = 0;
    let mut body = std::pin::pin!(body);
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| UploadError::Broken(error.into()))?;
        length += piece.len() as u64;
        if length > config.upload_max {
            return Err(UploadError::TooLarge(config.upload_max));
        }
        file.write_all(&piece).await.map_err(UploadError::Disk)?;
    }
    file.flush().await.map_err(UploadError::Disk)?;
    Ok(file.into_std().await)
}

/// Reads the file and stores its rows as chunks of a job. Returns the number of rows.
pub(crate) async fn store_chunks(
    state: &State,
    job: ScoreJobId,
    holder: NodeId,
    file: File,
) -> Result<u64, UploadError> {
    let (sender, mut chunks) = mpsc::channel(STORED_TOGETHER);
    let most = state.config.jobs.rows_max;
    let reading = tokio::task::spawn_blocking(move || read(file, most, &sender));
    let mut together = Vec::with_capacity(STORED_TOGETHER);
    while chunks.recv_many(&mut together, STORED_TOGETHER).await > 0 {
        if !score_jobs::append(&state.store, job, holder, &together, state.now()).await? {
            return Err(UploadError::GivenUp);
        }
        together.clear();
    }
    reading.await.map_err(|_| UploadError::Unreadable("reading the file failed".to_owned()))?
}

/// Reads the file into chunks. Ends without an error if no one receives them any more.
fn read(file: File, most: u64, chunks: &mpsc::Sender<NewChunk>) -> Result<u64, UploadError> {
    let reader = AddressReader::new(file).map_err(|error| unreadable(&error))?;
    if reader.rows().is_some_and(|rows| rows > most) {
        return Err(UploadError::TooManyRows(most));
    }
    let column = reader.column().to_owned();
    let (mut all, mut number, mut rows) = (0, 0, Vec::with_capacity(CHUNK));
    let (mut any_address, mut first_fault) = (false, None);
    for cell in reader {
        let row = row(&cell.map_err(|error| unreadable(&error))?);
        match &row.address {
            Ok(_) => any_address = true,
            Err(bad) if first_fault.is_none() => first_fault = Some(bad.describe()),
            Err(_) => {}
        }
        rows.push(row);
        all += 1;
        if all > most {
            return Err(UploadError::TooManyRows(most));
        }
        if rows.len() == CHUNK {
            if !send(chunks, number, &rows)? {
                return Ok(all);
            }
            number += 1;
            rows.clear();
        }
    }
    if let Some(reason) = first_fault.filter(|_| !any_address) {
        return Err(UploadError::NoAddress { column, reason });
    }
    if !rows.is_empty() {
        send(chunks, number, &rows)?;
    }
    if all == 0 { Err(UploadError::Empty) } else { Ok(all) }
}

fn send(chunks: &mpsc::Sender<NewChunk>, number: i64, rows: &[InputRow]) -> Result<bool, UploadError> {
    let input = serde_json::to_string(rows).map_err(|error| UploadError::Unreadable(error.to_string()))?;
    let rows = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    Ok(chunks.blocking_send(NewChunk { number, rows, input }).is_ok())
}

fn row(cell: &AddressCell) -> InputRow {
    let address = match &cell.text {
        Ok(text) => address::read(text).map_err(|error| BadAddress::new(text, error.to_string())),
        Err(reason) => Err(BadAddress::new("", reason.as_str())),
    };
    InputRow { line: cell.line, address }
}

fn unreadable(error: &pyxis_models::Error) -> UploadError {
    UploadError::Unreadable(match error {
        pyxis_models::Error::Io(cause) => format!("the file cannot be read: {cause}"),
        other => other.to_string(),
    })
}
