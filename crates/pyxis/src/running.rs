//! Facts of a running server that commands on the same data directory need: its address and what it may connect to.
//!
//! Every server holds a locked file with them. A file that can be locked is left over from a server that has ended. It
//! is apart from the files of [`crate::nodes`], so that a command that looks never keeps a start from settling a node.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ipnet::IpNet;
use pyxis_core::id::NodeId;
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Directory of the files, in the data directory.
const DIRECTORY: &str = "servers";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// Public origin that its links have.
    pub base_url: String,
    /// Address that it listens on.
    pub address: SocketAddr,
    /// Networks that its egress guard allows, as text.
    egress_allow: Vec<String>,
    /// Single addresses that its egress guard allows.
    pub egress_allow_addrs: Vec<SocketAddr>,
}

impl RunningServer {
    /// A server with these settings.
    pub fn new(config: &Config, base_url: &str, address: SocketAddr) -> Self {
        Self {
            base_url: base_url.to_owned(),
            address,
            egress_allow: config.egress_allow.iter().map(ToString::to_string).collect(),
            egress_allow_addrs: config.egress_allow_addrs.clone(),
        }
    }

    /// Networks that its egress guard allows.
    pub fn egress_allow(&self) -> Vec<IpNet> {
        self.egress_allow.iter().filter_map(|network| network.parse().ok()).collect()
    }
}

/// The announcement of this process; ends with this value, or with the process.
pub struct Announcement {
    path: PathBuf,
    _file: File,
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A file that stays is recognized by its free lock.
        let _ = fs::remove_file(&self.path);
    }
}

/// Announces the server of this process to commands on its data directory.
pub fn announce(data_dir: &Path, node: NodeId, server: &RunningServer) -> Result<Announcement> {
    let directory = data_dir.join(DIRECTORY);
    write_locked(&directory, node, server).with_context(|| format!("cannot write to {}", directory.display()))
}

/// The file gets its name only after it is complete and locked.
fn write_locked(directory: &Path, node: NodeId, server: &RunningServer) -> Result<Announcement> {
    fs::create_dir_all(directory)?;
    let path = directory.join(node.to_string());
    let unnamed = path.with_extension("new");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&unnamed)?;
    file.lock()?;
    file.write_all(&serde_json::to_vec(server)?)?;
    fs::rename(&unnamed, &path)?;
    Ok(Announcement { path, _file: file })
}

/// The server that runs on this data directory; of several, the one that started last.
pub fn find(data_dir: &Path) -> Option<RunningServer> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(data_dir.join(DIRECTORY)).ok()?.flatten().map(|entry| entry.path()).collect();
    // Ids of nodes sort by time.
    files.sort_unstable();
    files.iter().rev().find_map(|path| read_live(path))
}

/// The server of a file, if it is running. The file of one that has ended is removed.
fn read_live(path: &Path) -> Option<RunningServer> {
    let named = path.file_name().and_then(|name| name.to_str());
    named?.parse::<NodeId>().ok()?;
    let mut file = File::open(path).ok()?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        }
        Ok(()) => {
            let _ = fs::remove_file(path);
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    fn server(port: u16) -> RunningServer {
        RunningServer {
            base_url: format!("http://localhost:{port}"),
            address: ([127, 0, 0, 1], port).into(),
            egress_allow: vec!["10.0.0.0/8".to_owned()],
            egress_allow_addrs: vec![([127, 0, 0, 1], 9000).into()],
        }
    }

    #[test]
    fn a_server_is_found_while_it_runs_and_the_newest_of_several() {
        let directory = tempfile::tempdir().unwrap();
        let servers = directory.path().join(DIRECTORY);
        assert_eq!(find(directory.path()), None);
        let announce = |time, port| {
            let node = NodeId::new(UnixMillis(time), &SeededEntropy::new(1));
            write_locked(&servers, node, &server(port)).unwrap()
        };
        let first = announce(1_000, 8700);
        let second = announce(2_000, 8800);
        fs::write(servers.join("notes.txt"), "mine").unwrap();
        assert_eq!(find(directory.path()), Some(server(8800)));
        drop(second);
        assert_eq!(find(directory.path()), Some(server(8700)));
        drop(first);
        assert_eq!(find(directory.path()), None);
    }

    #[test]
    fn the_file_of_a_server_that_was_killed_is_removed_and_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let servers = directory.path().join(DIRECTORY);
        fs::create_dir(&servers).unwrap();
        let left = servers.join(NodeId::new(UnixMillis(1_000), &SeededEntropy::new(1)).to_string());
        fs::write(&left, serde_json::to_vec(&server(8700)).unwrap()).unwrap();
        fs::write(servers.join("notes.txt"), "mine").unwrap();
        assert_eq!(find(directory.path()), None);
        assert!(!left.exists() && servers.join("notes.txt").exists());
    }
}
