//! Detection of live and dead nodes in this data directory.
//!
//! Every server holds a locked file that is named after its node. The kernel drops the lock with the process, however
//! that ends. A file that can be locked therefore names a node that is certainly dead. Anything that such a node left
//! half done is settled at the next start, without waiting for its heartbeat to be missed.
//! `docs/decisions/0004-detect-dead-nodes-by-heartbeat-and-file-lock.md` says why this is not a lock in the database.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pyxis_core::id::NodeId;

/// The presence of this process; ends with this value, or with the process.
pub struct LiveNode {
    /// Locked as long as the process lives.
    _file: File,
    /// Dead nodes of this data directory.
    pub dead_nodes: Vec<DeadNode>,
}

/// A dead node, locked so that no other server settles it at the same time.
pub struct DeadNode {
    pub id: NodeId,
    path: PathBuf,
    _file: File,
}

/// Registers `node` in the data directory, and finds the dead nodes there.
pub fn register(data_dir: &Path, node: NodeId) -> Result<LiveNode> {
    let directory = data_dir.join("nodes");
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let path = directory.join(node.to_string());
    let file = create_locked(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut dead_nodes = Vec::new();
    for entry in fs::read_dir(&directory)? {
        let path = entry?.path();
        let named = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let Some(id) = named.filter(|id| *id != node) else { continue };
        // Removed in between: another server has settled it.
        let Ok(file) = File::options().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() {
            dead_nodes.push(DeadNode { id, path, _file: file });
        }
    }
    Ok(LiveNode { _file: file, dead_nodes })
}

/// The file gets its name only after it is locked, so that no other server finds it unlocked.
fn create_locked(path: &Path) -> std::io::Result<File> {
    let unnamed = path.with_extension("new");
    let file = File::options().create(true).truncate(false).write(true).open(&unnamed)?;
    file.lock()?;
    fs::rename(&unnamed, path)?;
    Ok(file)
}

impl LiveNode {
    /// Removes the dead nodes, once they are settled.
    pub fn recovered(&mut self) {
        for node in self.dead_nodes.drain(..) {
            if let Err(error) = fs::remove_file(&node.path) {
                tracing::warn!(%error, "cannot remove the lock file of a dead node");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    fn node(seed: u64) -> NodeId {
        NodeId::new(UnixMillis(1_000), &SeededEntropy::new(seed))
    }

    fn ids(live_node: &LiveNode) -> Vec<NodeId> {
        live_node.dead_nodes.iter().map(|node| node.id).collect()
    }

    #[test]
    fn a_node_whose_lock_is_free_is_dead_until_it_is_settled() {
        let directory = tempfile::tempdir().unwrap();
        let enter = |seed| register(directory.path(), node(seed)).unwrap();
        let (first, second) = (enter(1), enter(2));
        assert_eq!((ids(&first), ids(&second)), (vec![], vec![]));
        drop(first);
        let mut third = enter(3);
        assert_eq!(ids(&third), [node(1)]);
        // While one server settles it, no other one can.
        assert_eq!(ids(&enter(4)), []);
        third.recovered();
        assert_eq!(ids(&enter(5)), [node(4)]);
        drop(second);
    }

    #[test]
    fn what_is_no_nodes_mark_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("nodes")).unwrap();
        let stray = directory.path().join("nodes/notes.txt");
        fs::write(&stray, "mine").unwrap();
        let mut live_node = register(directory.path(), node(1)).unwrap();
        assert_eq!(ids(&live_node), []);
        live_node.recovered();
        assert!(stray.exists());
    }
}
