//! The log of this process, kept in memory.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;

/// Everything that was logged since the start.
#[derive(Clone, Default)]
pub(super) struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// Keeps the log from now on.
    pub(super) fn start() -> Self {
        // One for all tests of the process.
        static LOGS: OnceLock<Logs> = OnceLock::new();
        let begin = || {
            let logs = Self::default();
            let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::DEBUG);
            subscriber.with_writer(logs.clone()).try_init().expect("the only log of this process");
            logs
        };
        LOGS.get_or_init(begin).clone()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Logs {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
