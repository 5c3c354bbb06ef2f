//! Results of a job as a table.

use bytes::Bytes;
use futures_util::{Stream, stream};
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{ScoreJobId, WorkspaceId};
use pyxis_models::scope::Model;
use pyxis_store::audit::AuditedStore;
use pyxis_store::{Store, score_jobs};
use serde_json::json;

use super::{Error, Result, find};
use crate::jobs::rows::{ResultRow, RowOutcome, RowScore};
use crate::tabular::{ColumnKind, TableCell, TableColumn, TableFormat, TableWriter};

/// Chunks read at once.
const CHUNKS_AT_ONCE: u32 = 4;
/// Score for too little data.
const TOO_LITTLE: f64 = -1.0;

/// Rows of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Every row that has a result.
    All,
    /// Only failed ones.
    Failed,
}

/// The results of a job so far, in the order of the upload, piece by piece. A failure midway is the last item.
pub async fn download(
    store: &Store,
    audited: &AuditedStore,
    actor: &Actor,
    id: ScoreJobId,
    rows: Rows,
    format: TableFormat,
) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
    let job = find(store, actor.workspace, id).await?;
    let change = audited.begin(actor).await?;
    let detail = json!({ "job": id, "scorer": job.scorer_id, "format": format.as_str() });
    change.commit(AuditEvent::PopulationExported, detail).await?;
    let writer = TableWriter::new(format, columns()).map_err(Error::internal)?;
    let reader = Reader { store: store.clone(), workspace: actor.workspace, id, rows };
    let start = Some((reader, writer, 0));
    Ok(stream::try_unfold(start, |place| async move {
        let Some((reader, mut writer, from)) = place else { return Ok(None) };
        let found = reader.read(from).await?;
        let Some((cells, next)) = found else {
            return Ok(Some((writer.finish().map_err(Error::internal)?, None)));
        };
        let piece = writer.rows(&cells).map_err(Error::internal)?;
        Ok(Some((piece, Some((reader, writer, next)))))
    }))
}

struct Reader {
    store: Store,
    workspace: WorkspaceId,
    id: ScoreJobId,
    rows: Rows,
}

impl Reader {
    /// Rows of the chunks from a number on, and the number to go on with; `None` at the end.
    async fn read(&self, from: i64) -> Result<Option<(Vec<Vec<TableCell>>, i64)>> {
        let failed = self.rows == Rows::Failed;
        let found =
            score_jobs::results(&self.store, self.workspace, self.id, from, failed, CHUNKS_AT_ONCE).await?;
        let Some((last, _)) = found.last() else { return Ok(None) };
        let (next, mut cells) = (last + 1, Vec::new());
        for (number, document) in &found {
            let rows: Vec<ResultRow> = serde_json::from_str(document)
                .map_err(|_| Error::internal(format!("chunk {number} of job {} is damaged", self.id)))?;
            let wanted =
                rows.into_iter().filter(|row| !failed || !matches!(row.outcome, RowOutcome::Scored(_)));
            cells.extend(wanted.map(line));
        }
        Ok(Some((cells, next)))
    }
}

fn columns() -> Vec<TableColumn> {
    use ColumnKind::{Flag, Moment, Number, Text, Whole};
    let before = [
        ("line", Whole),
        ("address", Text),
        ("status", Text),
        ("error", Text),
        ("score", Number),
        ("threshold", Number),
        ("passing", Flag),
        ("computed_at", Moment),
        ("expires_at", Moment),
        ("score_error", Text),
        ("stamps", Text),
    ];
    let models = Model::ALL.iter().map(|model| TableColumn::new(format!("model_{}", model.as_str()), Number));
    let after = [
        ("cluster", Text),
        ("cluster_users", Whole),
        ("cluster_median_score", Number),
        ("cluster_evidence", Text),
    ];
    let named = |(name, kind): (&str, ColumnKind)| TableColumn::new(name, kind);
    before.into_iter().map(named).chain(models).chain(after.into_iter().map(named)).collect()
}

fn line(row: ResultRow) -> Vec<TableCell> {
    let ResultRow { line, address, outcome } = row;
    let (status, error, score) = match outcome {
        RowOutcome::Scored(score) => ("scored", None, Some(score)),
        RowOutcome::Failed(why) => ("failed", Some(why), None),
        RowOutcome::Invalid(why) => ("invalid", Some(why), None),
    };
    let line = i64::try_from(line).unwrap_or(i64::MAX);
    let mut cells = vec![
        TableCell::Whole(line),
        TableCell::Text(address),
        TableCell::Text(status.to_owned()),
        TableCell::text(error),
    ];
    match score {
        Some(score) => cells.extend(score_cells(*score)),
        None => cells.resize(columns().len(), TableCell::Empty),
    }
    cells
}

fn score_cells(score: RowScore) -> Vec<TableCell> {
    let RowScore { record, models, cluster } = score;
    let stamps = serde_json::to_string(&record.stamps).unwrap_or_default();
    let mut cells = vec![
        TableCell::decimal(&record.score),
        TableCell::decimal(&record.threshold),
        TableCell::Flag(record.passing_score),
        TableCell::from_time(Some(&record.last_score_timestamp)),
        TableCell::from_time(record.expiration_timestamp.as_deref()),
        TableCell::text(record.error),
        TableCell::Text(stamps),
    ];
    let of = |model: &Model| TableCell::Number(models.get(model.as_str()).copied().unwrap_or(TOO_LITTLE));
    cells.extend(Model::ALL.iter().map(of));
    match cluster {
        None => cells.extend(std::iter::repeat_n(TableCell::Empty, 4)),
        Some(cluster) => cells.extend([
            TableCell::Text(cluster.id.to_string()),
            TableCell::Whole(i64::try_from(cluster.users).unwrap_or(i64::MAX)),
            TableCell::Number(cluster.median_score),
            TableCell::Text(cluster.describe()),
        ]),
    }
    cells
}
