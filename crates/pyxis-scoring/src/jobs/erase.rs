//! Takes an address out of a chunk. Its row stays with its line number, as one without an address.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_store::score_jobs::{ChunkTotals, RewrittenChunk, StoredChunk};

use super::decoded;
use super::rows::{BadAddress, InputRow, ResultRow, RowOutcome};
use super::worker::totals;
use crate::error::{Error, Result};

/// Text in the place of an erased row's result.
const ERASED: &str = "the address was erased";

/// The chunk without the address, and the number of its rows. `None` if the address does not occur.
pub(crate) fn without(
    (job, number): (pyxis_core::id::ScoreJobId, i64),
    before: StoredChunk,
    address: EvmAddress,
) -> Result<Option<(RewrittenChunk, usize)>> {
    let damaged = || Error::Internal(format!("chunk {number} of score job {job} is damaged").into());
    let (input, result) = before.documents().ok_or_else(damaged)?;
    let plain = hex::encode(&address.0);
    let mentions = |text: &str| text.to_ascii_lowercase().contains(&plain);
    if !mentions(&input) && !result.as_deref().is_some_and(mentions) {
        return Ok(None);
    }
    let mut rows: Vec<InputRow> = decoded(&input)?;
    let mut erased = 0;
    for row in &mut rows {
        let is_found = match &row.address {
            Ok(one) => *one == address,
            Err(bad) => mentions(&bad.text),
        };
        if is_found {
            row.address = Err(BadAddress { text: String::new(), reason: ERASED.to_owned() });
            erased += 1;
        }
    }
    let results: Option<Vec<ResultRow>> = result.as_deref().map(decoded).transpose()?;
    let results =
        results.map(|rows| rows.into_iter().map(|row| clear(row, address, mentions)).collect::<Vec<_>>());
    let after = RewrittenChunk {
        job,
        number,
        totals: results.as_deref().map_or(ChunkTotals::default(), totals),
        input: encoded(&rows)?,
        result: results.as_ref().map(encoded).transpose()?,
        before,
    };
    Ok(Some((after, erased)))
}

fn clear(mut row: ResultRow, address: EvmAddress, mentions: impl Fn(&str) -> bool) -> ResultRow {
    if mentions(&row.address) {
        return ResultRow { address: String::new(), outcome: RowOutcome::Invalid(ERASED.to_owned()), ..row };
    }
    if let RowOutcome::Scored(score) = &mut row.outcome
        && score.cluster.as_ref().is_some_and(|cluster| cluster.names(address))
    {
        score.cluster = None;
    }
    row
}

fn encoded<T: serde::Serialize>(rows: &T) -> Result<String> {
    serde_json::to_string(rows).map_err(|error| Error::Internal(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::rows::ClusterEvidence;

    #[test]
    fn evidence_names_its_group_its_funder_and_its_sink() {
        let [id, funder, sink, other] = [1, 2, 3, 4].map(|byte| EvmAddress([byte; 20]));
        let evidence = ClusterEvidence {
            id,
            users: 5,
            median_score: 3.0,
            shared_funder: Some((funder, 4)),
            shared_sink: Some((sink, 2)),
            same_day: 0,
            transfers_within: 0,
        };
        assert_eq!([id, funder, sink, other].map(|one| evidence.names(one)), [true, true, true, false]);
    }
}
