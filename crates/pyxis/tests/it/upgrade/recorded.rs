//! Installations of earlier releases, recorded with all kinds of rows, go on with this program.
//!
//! `ci/record-release.sh` records this release, or an earlier program of it, in `crates/pyxis/tests/fixtures/releases`.
//! The master key is derived from a constant and protects nothing. With `PX_TEST_PREVIOUS_PYXIS`, that program then
//! serves the upgraded database.

mod installation;
mod schema;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pyxis_core::digest::sha256_hex;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use self::installation::populated;
use self::schema::{RecordedSchema, accepts_statements, begin_statements, dump, take_statements};
use super::script_setting;
use crate::support::{App, Client, Person, SECRET, Setup};

/// The recorded master keys are the SHA-256 of this text.
const MASTER_KEY_TEXT: &str = "master key of recorded test installations; protects nothing";

/// Tables that must have rows in a recording, because the checks below or a later migration depend on them.
const RECORDED: [&str; 30] = [
    "access_tokens",
    "agents",
    "api_keys",
    "approval_bodies",
    "approvals",
    "attestation_keys",
    "audit_checkpoints",
    "audit_head",
    "audit_records",
    "blocked_subjects",
    "claims",
    "credentials",
    "data_keys",
    "deliveries",
    "grants",
    "issuers",
    "nullifier_holders",
    "policies",
    "proof_issuers",
    "proofs",
    "schema_migrations",
    "scorer_weights",
    "scorers",
    "scores",
    "stamp_nullifiers",
    "stamps",
    "users",
    "votes",
    "webhooks",
    "workspaces",
];

/// Statements that the recorded program ran on PostgreSQL.
const STATEMENTS: &str = "postgres.statements.sql";

/// Expiry of what is recorded, so that the recording stays valid: the year 2100.
const LATER_MILLIS: i64 = 4_102_444_800_000;

/// Lists that the owner reads.
const LISTS: [&str; 15] = [
    "/approvals",
    "/admin/agents",
    "/admin/credentials",
    "/admin/grants",
    "/admin/webhooks",
    "/admin/deliveries",
    "/admin/tokens",
    "/admin/members",
    "/admin/scorers",
    "/admin/api-keys",
    "/admin/issuers",
    "/admin/proof-issuers",
    "/admin/proofs",
    "/admin/blocklist",
    "/admin/audit",
];

fn with_key(setup: Setup) -> Setup {
    setup.env("PX_ENCRYPTION_KEY", &sha256_hex(MASTER_KEY_TEXT.as_bytes()))
}

/// An empty database of the same engine.
async fn another(database: &TestDatabase) -> Setup {
    let setup = match database.file() {
        Some(_) => Setup::new(),
        None => Setup::on(Database::create("recorded").await),
    };
    with_key(setup)
}

fn engine(database: &TestDatabase) -> &'static str {
    if database.file().is_some() { "sqlite" } else { "postgres" }
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/releases")
}

engines! {
    async fn an_installation_of_every_recorded_release_goes_on_with_this_program(database: TestDatabase) {
        if script_setting("PX_RECORD_RELEASE").is_some() {
            record(another(&database).await, engine(&database)).await;
        }
        let mut releases: Vec<PathBuf> =
            std::fs::read_dir(recordings()).unwrap().map(|entry| entry.unwrap().path()).collect();
        releases.sort();
        assert!(!releases.is_empty());
        for release in releases {
            let script = std::fs::read_to_string(release.join(format!("{}.sql", engine(&database)))).unwrap();
            let shown = std::fs::read_to_string(release.join(format!("{}.json", engine(&database)))).unwrap();
            let mut shown: Value = serde_json::from_str(&shown).unwrap();
            shown["proof"]["expirationDate"] = (LATER_MILLIS / 1000).into();
            let mut app = goes_on(another(&database).await, &script, &shown).await;
            if app.is_postgres() {
                let statements = std::fs::read_to_string(release.join(STATEMENTS)).unwrap();
                accepts_statements(app.postgres(), &statements).await;
            }
            if let Some(program) = script_setting("PX_TEST_PREVIOUS_PYXIS") {
                goes_back(&mut app, Path::new(&program), &shown).await;
            }
        }
    }
}

/// Records an installation of this program, or of the one that `PX_TEST_PREVIOUS_PYXIS` names.
async fn record(setup: Setup, engine: &str) {
    let setup = match script_setting("PX_TEST_PREVIOUS_PYXIS") {
        Some(program) => setup.program(Path::new(&program)),
        None => setup,
    };
    begin_statements(&setup).await;
    let mut recorded = populated(setup).await;
    list_everything(&recorded.site.owner).await;
    assert!(recorded.site.app.stop().await.success());
    let app = &recorded.site.app;
    for table in RECORDED {
        assert_ne!(app.sql(&format!("SELECT count(*) FROM {table}")), ["0"], "{table} has no rows");
    }
    let folder = recordings().join(env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(&folder).unwrap();
    if app.is_postgres() {
        std::fs::write(folder.join(STATEMENTS), take_statements(app.postgres()).await).unwrap();
    }
    std::fs::write(folder.join(format!("{engine}.sql")), dump(app)).unwrap();
    let shown = serde_json::to_string_pretty(&recorded.shown).unwrap() + "\n";
    std::fs::write(folder.join(format!("{engine}.json")), shown).unwrap();
}

/// Starts this program on a recorded installation and checks what people, agents and applications rely on.
async fn goes_on(setup: Setup, script: &str, shown: &Value) -> App {
    let mut app = App::empty(setup);
    if app.is_postgres() {
        app.postgres().run(script).await;
    } else {
        std::fs::DirBuilder::new().mode(0o700).create(app.data()).unwrap();
        pyxis_testkit::sqlite::run(&app.data().join("pyxis.db"), script);
    }
    // The pending requests and the proof would have expired long ago.
    app.sql(&format!(
        "UPDATE approvals SET expires_at = {LATER_MILLIS} WHERE state = 'pending';
        UPDATE proofs SET expires_at = {LATER_MILLIS}"
    ));
    let schema = RecordedSchema::load(&app);
    app.serve();
    app.cli(&["audit", "verify"]).await.expect(0);
    let text = |name: &str| shown[name].as_str().unwrap().to_owned();
    let owner = app.sign_in(&text("owner_email")).await;
    let agent = app.agent(&text("agent_key"));

    // The stored credential opens, and its policy applies.
    let upstream = Upstream::http().await;
    let here = json!({"allowed_hosts": [upstream.addr().to_string()]});
    owner.client.patch("/admin/credentials/api", &here).send().await.expect(200);
    agent.forward("api", "GET", &upstream.url("/x")).send().await.forwarded(200);
    let received = upstream.requests();
    assert_eq!(received[0].headers["authorization"], format!("Bearer {SECRET}").as_str());
    agent.forward("api", "DELETE", &upstream.url("/x")).send().await.problem(403, "denied_by_policy");

    // Decided requests are as they were, and pending ones can be decided.
    for (name, status) in [("approved", "approved"), ("denied", "denied")] {
        assert_eq!(agent.poll(&text(name)).await["status"], status);
    }
    let [first, second] = [text("pending_to_approve"), text("pending_to_deny")];
    owner.approve(&first).await;
    assert_eq!(agent.outcome(&first).await["status"], "approved");
    owner.deny(&second, "not after the upgrade").await;
    assert_eq!(agent.poll(&second).await["status"], "denied");
    assert_eq!(upstream.requests().len(), 1, "the recorded target is not an allowed host anymore");

    same_score_and_proof(&app, shown).await;
    list_everything(&owner).await;
    schema.is_still_usable(&app);
    app.cli(&["audit", "verify"]).await.expect(0);
    app.cli(&["doctor"]).await.expect(0);
    assert!(!app.logs().contains("panicked"), "{}", app.logs());
    app
}

async fn list_everything(owner: &Person) {
    for path in LISTS {
        owner.client.get(path).send().await.expect(200);
    }
}

/// The score and the proof as they were recorded.
async fn same_score_and_proof(app: &App, shown: &Value) {
    let api = app.anonymous().with("x-api-key", shown["api_key"].as_str().unwrap());
    let read = async |client: Client, path: &str| {
        client.get(shown[path].as_str().unwrap()).send().await.expect(200).json()
    };
    assert_eq!(read(api, "score_path").await, shown["score"]);
    assert_eq!(read(app.anonymous(), "proof_path").await, shown["proof"]);
}

/// Starts the earlier program on the database that this one has upgraded and used.
async fn goes_back(app: &mut App, program: &Path, shown: &Value) {
    assert!(app.stop().await.success());
    app.change(|setup| setup.program(program));
    app.serve();
    same_score_and_proof(app, shown).await;
    let owner = app.sign_in(shown["owner_email"].as_str().unwrap()).await;
    list_everything(&owner).await;
    app.cli(&["audit", "verify"]).await.expect(0);
    assert!(!app.logs().contains("panicked"), "{}", app.logs());
}
