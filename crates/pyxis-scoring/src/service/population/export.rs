//! A population as a table.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{Stream, stream};
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_store::audit::AuditedStore;
use pyxis_store::long_work;
use serde_json::json;

use super::{Error, Population, Result, ScoredAddress};
use crate::record::RecordStamp;
use crate::tabular::{ColumnKind, TableCell, TableColumn, TableFormat, TableWriter};

/// Addresses read at once.
const PAGE: u32 = 2000;

/// Exports all scored addresses, piece by piece. A failure midway is the last item.
pub async fn export(
    audited: &AuditedStore,
    actor: &Actor,
    population: Population,
    format: TableFormat,
) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
    let change = audited.begin(actor).await?;
    let at = population.at.map(pyxis_core::clock::UnixMillis::to_rfc3339);
    let detail = json!({ "scorer": population.scorer, "at": at, "format": format.as_str() });
    change.commit(AuditEvent::PopulationExported, detail).await?;
    let writer = TableWriter::new(format, columns()).map_err(Error::internal)?;
    let start = Some((population, writer, None));
    Ok(stream::try_unfold(start, |place| async move {
        let Some((population, mut writer, after)) = place else { return Ok(None) };
        let page = long_work(population.page(after, PAGE)).await?;
        let Some(last) = page.last().map(|line| line.address) else {
            return Ok(Some((writer.finish().map_err(Error::internal)?, None)));
        };
        let rows: Vec<Vec<TableCell>> = page.into_iter().map(line).collect();
        let piece = writer.rows(&rows).map_err(Error::internal)?;
        Ok(Some((piece, Some((population, writer, Some(last))))))
    }))
}

fn columns() -> Vec<TableColumn> {
    use ColumnKind::{Flag, Moment, Number, Text};
    let all = [
        ("address", Text),
        ("score", Number),
        ("threshold", Number),
        ("passing", Flag),
        ("computed_at", Moment),
        ("expires_at", Moment),
        ("outdated", Flag),
        ("score_error", Text),
        ("stamps", Text),
    ];
    all.into_iter().map(|(name, kind)| TableColumn::new(name, kind)).collect()
}

fn line(found: ScoredAddress) -> Vec<TableCell> {
    let stamps: BTreeMap<String, RecordStamp> = found
        .stamps
        .into_iter()
        .map(|stamp| {
            let record =
                RecordStamp { score: stamp.score, dedup: stamp.dedup, expiration_date: stamp.expires_at };
            (stamp.name, record)
        })
        .collect();
    vec![
        TableCell::Text(found.address.to_string()),
        TableCell::decimal(&found.score),
        TableCell::decimal(&found.threshold),
        TableCell::Flag(found.passing),
        TableCell::from_time(Some(&found.computed_at)),
        TableCell::from_time(found.expires_at.as_deref()),
        TableCell::Flag(found.outdated),
        TableCell::text(found.error),
        TableCell::Text(serde_json::to_string(&stamps).unwrap_or_default()),
    ]
}
