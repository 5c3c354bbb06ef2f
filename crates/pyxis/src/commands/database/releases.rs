//! Releases of the nodes that run on this database.

use std::collections::BTreeSet;

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_store::nodes::{self, DEAD_AFTER, NodeRow};
use pyxis_store::{Store, StoreError};

use super::Finding;

const FIX: &str = "finish the upgrade: docs/guides/upgrade.md";

/// The running nodes with their releases, and a warning while there are several.
pub(super) async fn examine(store: &Store) -> Vec<Finding> {
    match running(store).await {
        Ok(rows) => finding(&rows).into_iter().collect(),
        Err(error) => vec![Finding::bad("nodes", error, "check the database")],
    }
}

async fn running(store: &Store) -> Result<Vec<NodeRow>, StoreError> {
    let alive_since = SystemClock.now().minus(DEAD_AFTER);
    let mut rows = nodes::list(store).await?;
    rows.retain(|row| row.seen_at >= alive_since);
    Ok(rows)
}

fn finding(rows: &[NodeRow]) -> Option<Finding> {
    let release = |row: &NodeRow| match (&row.release, row.level) {
        (Some(release), Some(level)) => format!("release {release}, level {level}"),
        _ => "a release before 0.1.0".to_owned(),
    };
    let releases: BTreeSet<String> = rows.iter().map(release).collect();
    let listed: Vec<String> =
        rows.iter().map(|row| format!("{} runs {}", row.node_id, release(row))).collect();
    let listed = listed.join("; ");
    match releases.len() {
        0 => None,
        1 => Some(Finding::good("nodes").detail(listed)),
        _ => Some(Finding::doubtful("nodes", format!("several releases run: {listed}"), FIX)),
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;
    use pyxis_core::id::NodeId;

    use super::*;

    fn row(seed: u64, release: &str, level: i64) -> NodeRow {
        let at = UnixMillis(1);
        let node_id = NodeId::new(at, &SeededEntropy::new(seed));
        NodeRow {
            node_id,
            started_at: at,
            seen_at: at,
            release: Some(release.to_owned()),
            level: Some(level),
        }
    }

    #[test]
    fn nodes_of_several_releases_are_a_warning() {
        assert!(finding(&[]).is_none());
        let same = finding(&[row(1, "0.1.0", 40), row(2, "0.1.0", 40)]).unwrap();
        assert!(same.fix.is_empty() && same.wrong.is_none());
        let mixed = finding(&[row(1, "0.1.0", 40), row(2, "0.1.1", 41)]).unwrap();
        let warning = mixed.detail.unwrap();
        assert!(
            warning.contains("release 0.1.0, level 40") && warning.contains("release 0.1.1, level 41"),
            "{warning}"
        );
        assert_eq!(mixed.fix, FIX);
    }
}
