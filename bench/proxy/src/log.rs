//! A log of lines that are on the disk once they are told to be: one thread writes and syncs whatever waits.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result};
use tokio::sync::oneshot;

/// A line and who waits for it.
type LogLine = (String, oneshot::Sender<()>);

/// The sending side.
#[derive(Clone)]
pub struct Log(Sender<LogLine>);

impl Log {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let (lines, waiting) = channel();
        std::thread::spawn(move || serve(file, &waiting));
        Ok(Self(lines))
    }

    /// True if the line is on the disk.
    pub async fn append(&self, line: String) -> bool {
        let (told, done) = oneshot::channel();
        self.0.send((line, told)).is_ok() && done.await.is_ok()
    }
}

/// Ends with the first failure: nothing is answered that is not on the disk.
fn serve(mut file: File, waiting: &Receiver<LogLine>) {
    let mut text = String::new();
    let mut answers = Vec::new();
    while let Ok(first) = waiting.recv() {
        text.clear();
        for (line, told) in std::iter::once(first).chain(waiting.try_iter()) {
            text.push_str(&line);
            answers.push(told);
        }
        if file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        for told in answers.drain(..) {
            // Nobody waiting any more is fine.
            let _ = told.send(());
        }
    }
}
