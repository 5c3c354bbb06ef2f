//! Installation of a test: a migrated database, the keys that seal its rows, and the time and randomness it runs on.

use std::ops::Deref;
use std::sync::Arc;

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::clock::{Clock, FixedClock, UnixMillis};
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::WorkspaceId;
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::{Keyring, MasterKey};
use pyxis_store::workspaces::{self, WorkspaceRow};
use pyxis_store::{OpenOptions, Store};

use crate::database::{Fixture, TestDatabase};

/// Time at which installations start: midnight, and the start of a window.
pub const START: UnixMillis = UnixMillis(1_767_225_600_000);

/// Installation without a workspace.
pub struct Installation {
    pub store: Store,
    pub options: OpenOptions,
    pub master: MasterKey,
    pub keyring: Keyring,
    pub audit_keys: AuditKeys,
    pub clock: Arc<FixedClock>,
    pub entropy: Arc<SeededEntropy>,
    /// Removed last.
    pub database: TestDatabase,
}

impl Fixture for Installation {
    async fn start(database: TestDatabase) -> Self {
        Self::at(database, START).await
    }
}

impl Installation {
    /// Starts at `now` on an empty database.
    pub async fn at(database: TestDatabase, now: UnixMillis) -> Self {
        let options = OpenOptions::new(database.url());
        let store = Store::open(&options).expect("a database");
        store.migrate().await.expect("a schema");
        let entropy = Arc::new(SeededEntropy::new(1));
        let master = MasterKey::generate(&*entropy);
        let keyring = Keyring::load(&store, &master, &*entropy, now).await.expect("keys");
        Self {
            audit_keys: AuditKeys::new(&keyring),
            clock: Arc::new(FixedClock::new(now)),
            store,
            options,
            master,
            keyring,
            entropy,
            database,
        }
    }

    /// Another connection pool on the same database, as another process has it.
    pub fn reopen(&self) -> Store {
        Store::open(&self.options).expect("a database")
    }

    /// Adds a gated workspace, and nothing in it.
    pub async fn add_workspace(&self, name: &str) -> WorkspaceId {
        let now = self.clock.now();
        let id = WorkspaceId::new(now, &*self.entropy);
        let row = WorkspaceRow {
            id,
            name: name.to_owned(),
            mode: ApprovalMode::Gated,
            approval_timeout_secs: None,
            created_at: now,
        };
        workspaces::insert(&self.store, &row).await.expect("a new name");
        id
    }
}

/// Installation with the workspace `main`.
pub struct Workspace {
    pub installation: Installation,
    pub id: WorkspaceId,
}

impl Fixture for Workspace {
    async fn start(database: TestDatabase) -> Self {
        let installation = Installation::start(database).await;
        let id = installation.add_workspace("main").await;
        Self { installation, id }
    }
}

impl Deref for Workspace {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.installation
    }
}
