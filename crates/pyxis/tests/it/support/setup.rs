//! Settings for starting the program in a test.

use std::path::{Path, PathBuf};

use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::postgres::Database;

/// Settings of a program that is about to start.
pub(crate) struct Setup {
    /// Its PostgreSQL database; `None` means SQLite.
    pub(super) postgres: Option<Database>,
    pub(super) env: Vec<(String, String)>,
    /// The built program, or one of another release.
    pub(super) program: PathBuf,
}

impl Setup {
    /// On SQLite, with loopback open in the egress guard, because tests' upstreams are there.
    pub(crate) fn new() -> Self {
        let program = env!("CARGO_BIN_EXE_pyxis").into();
        let setup = Self { postgres: None, env: Vec::new(), program };
        // Tests run in parallel, and metrics have one port by default.
        setup.env("PX_EGRESS_ALLOW", "127.0.0.0/8,::1/128").env("PX_METRICS_LISTEN", "off")
    }

    pub(crate) fn on(postgres: Database) -> Self {
        Self { postgres: Some(postgres), ..Self::new() }
    }

    /// Sets a variable of the program's environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts another program, such as that of an earlier release.
    pub(crate) fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// Its database, if that is on PostgreSQL.
    pub(crate) fn postgres(&self) -> Option<&Database> {
        self.postgres.as_ref()
    }

    /// Removes a variable again.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.env.retain(|(set, _)| set != name);
        self
    }
}

impl Fixture for Setup {
    async fn start(database: TestDatabase) -> Self {
        Self { postgres: database.into_postgres(), ..Self::new() }
    }
}
