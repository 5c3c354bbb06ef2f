//! Statements on the request path use indexes. Both engines report how they would run each statement.

use std::borrow::Cow;
use std::sync::Mutex;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};
use pyxis_core::stamp::Nullifier;

use crate::db::{FromRow, Rows, SqlQuery};
use crate::stamps::Cursor;
use crate::{
    DatabaseUrl, Engine, Executor, OpenOptions, Store, StoreError, addresses, api_keys, claims, home,
    issuers, nullifier_sets, proof_log, proofs, revocations, score_history, scorer_changes, scorers, scores,
    stamps, usage,
};

mod inbox;
mod postgres;
mod tasks;

/// Records the statements for an engine without running them.
struct Recorder {
    engine: Engine,
    noted: Mutex<Vec<String>>,
}

impl Recorder {
    fn new(engine: Engine) -> Self {
        Self { engine, noted: Mutex::default() }
    }

    fn record<T>(&self, text: &str) -> Result<T, StoreError> {
        self.noted.lock().unwrap().push(text.to_owned());
        Err(StoreError::Aborted)
    }

    fn into_noted(self) -> Vec<String> {
        self.noted.into_inner().unwrap()
    }
}

impl Executor for &Recorder {
    fn engine(&self) -> Engine {
        self.engine
    }

    async fn optional<T: FromRow>(self, query: SqlQuery) -> Result<Option<T>, StoreError> {
        self.record(query.text())
    }

    async fn all<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        self.record(query.text())
    }

    async fn execute(self, query: SqlQuery) -> Result<u64, StoreError> {
        self.record(query.text())
    }

    async fn returning<T: FromRow>(self, query: SqlQuery) -> Result<Vec<T>, StoreError> {
        self.record(query.text())
    }

    async fn execute_each(self, text: Cow<'static, str>, _: Rows) -> Result<u64, StoreError> {
        self.record(&text)
    }
}

/// Statements behind requests, ingestion and scoring.
async fn statements(engine: Engine) -> Vec<String> {
    let recorder = Recorder::new(engine);
    let (at, address, digest) = (UnixMillis(0), EvmAddress([0; 20]), [0; 32]);
    let ws = WorkspaceId::new(at, &SeededEntropy::new(1));
    let key = ApiKeyId::new(&SeededEntropy::new(2));
    let scorer: ScorerId = "1".parse().unwrap();
    let nullifiers: Vec<Nullifier> = vec!["a".parse().unwrap(), "b".parse().unwrap()];
    let r = &recorder;
    let _ = r.optional::<(i64,)>(scores::lookup_query("hash", scorer, address)).await;
    if engine == Engine::Sqlite {
        let _ = r.optional::<(i64,)>(scores::in_place_query(scorer, address)).await;
    }
    let _ = r.optional::<(i64,)>(scores::stored_query(scorer, address)).await;
    let _ = api_keys::find(r, "hash").await;
    let _ = api_keys::find_by_id(r, ws, key).await;
    let _ = scorers::terms(r, ws, scorer).await;
    let _ = addresses::filter_known(r, ws, &[address]).await;
    let _ = addresses::is_known(r, ws, address).await;
    let _ = issuers::is_listed(r, ws, "did").await;
    let _ = revocations::find(r, ws, &digest).await;
    let _ = stamps::live_of(r, ws, address, at).await;
    let _ = stamps::find(r, ws, address, &"A".parse().unwrap()).await;
    let _ = stamps::find_by_digest(r, ws, &digest).await;
    let hashes = stamps::NullifierHash::hash_all(ws, &nullifiers);
    let _ = stamps::others_with_nullifiers(r, ws, Some(address), &hashes).await;
    let _ = stamps::others_with_nullifiers(r, ws, None, &hashes).await;
    let _ = nullifier_sets::read(r, ws, nullifiers.iter().collect()).await;
    let _ = nullifier_sets::members(r, ws, &nullifiers).await;
    for cursor in [Cursor::First, Cursor::Older(1), Cursor::Newer(1)] {
        let _ = stamps::page(r, ws, address, at, cursor, 1).await;
        let _ = stamps::exists_beyond(r, ws, address, at, cursor).await;
    }
    let _ = claims::list_for(r, ws, scorer, &nullifiers).await;
    let _ = claims::of_digest(r, ws, &digest).await;
    let _ = revocations::all_of(r, ws, &[digest]).await;
    let _ = scores::of_many(r, ws, scorer, &vec![address; 1000]).await;
    let _ = scores::scorers_of(r, ws, address).await;
    let _ = scores::addresses(r, ws, scorer, Some(address), 1).await;
    let _ = scores::stale(r, ws, scorer, at, Some(address), 1).await;
    let _ = scores::progress(r, ws, scorer, at).await;
    let _ = stamps::live_of_many(r, ws, &vec![address; 100], at).await;
    let _ = addresses::sample(r, ws, 1).await;
    let _ = score_history::latest_before(r, ws, scorer, address, at).await;
    // Voting by score (`/snapshot-strategies/score`).
    let voters = vec![address; 1000];
    let _ = score_history::latest_of_many(r, ws, scorer, &voters, at).await;
    let _ = addresses::known_by(r, ws, &voters, at).await;
    let _ = scorer_changes::list(r, ws, scorer).await;
    let _ = usage::windows(r, ws, key, at, at).await;
    let subject = pyxis_core::proof::Subject::Evm(address);
    let network: pyxis_core::proof::NetworkName = "optimism".parse().unwrap();
    let (kind, action_id) = (pyxis_core::proof::Kind::GovId, pyxis_core::proof::DEFAULT_ACTION);
    let nullifier = pyxis_core::proof::ProofNullifier(action_id.0);
    let question =
        proofs::RegistryQuery { network: network.clone(), kind, action_id: Some(action_id), height: 1, at };
    let _ = proofs::live_until(r, &question, subject).await;
    let _ = proofs::live_among(r, &question, &vec![subject; 1000]).await;
    let _ = proofs::known_of(r, &question, &[subject]).await;
    let _ = proofs::blocked_among(r, &question, &[subject]).await;
    let _ = proofs::open_of_subject(r, &network, kind, subject, action_id).await;
    let _ = proofs::open_of_nullifier(r, kind, action_id, nullifier).await;
    let _ = proof_log::find_statement(r, &digest).await;
    recorder.into_noted()
}

/// A freshly migrated database and its temporary directory.
async fn migrated() -> (tempfile::TempDir, rusqlite::Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("px.db");
    let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
    store.migrate().await.unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    (directory, connection)
}

#[tokio::test]
async fn no_statement_that_a_request_waits_for_scans_a_table() {
    let (_directory, connection) = migrated().await;
    let statements = statements(Engine::Sqlite).await;
    assert_eq!(statements.len(), 45);
    for text in statements {
        let steps = plan(&connection, &text);
        assert!(steps.iter().any(|step| step.starts_with("SEARCH")), "{text}\n{steps:#?}");
        // `parts` is a short list of index parts that exists only in the statement.
        let scans = |step: &String| step.starts_with("SCAN") && step != "SCAN parts";
        assert!(!steps.iter().any(scans), "{text}\n{steps:#?}");
        // A page is read in index order, not sorted, except for the few Stamps of an address.
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
        let few = text.contains("FROM stamps ") && text.contains("address = $2");
        assert!(!(sorts && text.contains("LIMIT")) || few, "{text}\n{steps:#?}");
    }
}

#[tokio::test]
async fn a_credential_is_looked_up_by_its_digest_and_not_among_all_of_its_workspace() {
    let (_directory, connection) = migrated().await;
    let texts =
        statements(Engine::Sqlite).await.into_iter().filter(|text| text.contains("FROM stamps WHERE"));
    let texts: Vec<String> = texts.filter(|text| text.contains("digest = ")).collect();
    assert_eq!(texts.len(), 1, "{texts:#?}");
    let steps = plan(&connection, &texts[0]);
    assert_eq!(steps[0], "SEARCH stamps USING INDEX stamps_by_digest (<expr>=? AND <expr>=?)");
}

#[tokio::test]
async fn a_list_that_is_too_long_for_parameters_is_looked_up_as_well() {
    let (_directory, connection) = migrated().await;
    let recorder = Recorder::new(Engine::Sqlite);
    let (r, ws) = (&recorder, WorkspaceId::new(UnixMillis(0), &SeededEntropy::new(1)));
    let nullifiers: Vec<Nullifier> = vec!["a".parse().unwrap(); 20_000];
    let _ = claims::list_for(r, ws, "1".parse().unwrap(), &nullifiers).await;
    let hashes = stamps::NullifierHash::hash_all(ws, &nullifiers);
    let _ = stamps::others_with_nullifiers(r, ws, Some(EvmAddress([0; 20])), &hashes).await;
    let mut many = nullifiers;
    many.iter_mut().enumerate().for_each(|(number, one)| *one = format!("n{number}").parse().unwrap());
    let _ = nullifier_sets::read(r, ws, many.iter().collect()).await;
    let _ = nullifier_sets::members(r, ws, &many).await;
    let _ = addresses::filter_known(r, ws, &vec![EvmAddress([0; 20]); 20_000]).await;
    for text in recorder.into_noted() {
        let steps = plan(&connection, &text);
        let scans: Vec<&String> = steps.iter().filter(|step| step.starts_with("SCAN")).collect();
        assert_eq!(scans.len(), 1, "{text}\n{steps:#?}");
        assert!(scans[0].starts_with("SCAN json_each"), "{text}\n{steps:#?}");
    }
}

/// Statements of the home page.
async fn home_statements(engine: Engine) -> Vec<String> {
    let recorder = Recorder::new(engine);
    let at = UnixMillis(0);
    let ws = WorkspaceId::new(at, &SeededEntropy::new(1));
    let user = pyxis_core::id::UserId::new(at, &SeededEntropy::new(2));
    let r = &recorder;
    let _ = home::count_after(r, ws, 0, at).await;
    let _ = home::has_credential(r, ws).await;
    let _ = home::has_agent_request(r, ws).await;
    let _ = home::has_second_approver(r, ws).await;
    let _ = home::has_passkey(r, ws, user).await;
    let _ = home::is_notified(r, ws, user).await;
    let _ = home::is_workspace_notified(r, ws).await;
    let _ = home::skipped_steps(r, ws, user).await;
    let _ = home::first_agent(r, ws).await;
    let _ = home::refused_after(r, ws, 0, at, 5).await;
    let _ = home::failed_checks(r, ws, 5).await;
    let _ = home::failing_webhooks(r, ws, 5).await;
    let _ = home::idle_credentials(r, ws, at, 5).await;
    let _ = home::disconnected_credentials(r, ws, 5).await;
    let _ = home::client_certificates(r, ws, 5).await;
    let _ = home::idle_agents(r, ws, at, 5).await;
    let _ = home::scores_served(r, ws, at).await;
    let _ = home::expiring_tokens(r, (ws, user), at, at, 5).await;
    recorder.into_noted()
}

#[tokio::test]
async fn no_statement_of_the_home_page_scans_a_table() {
    let (_directory, connection) = migrated().await;
    let statements = home_statements(Engine::Sqlite).await;
    assert_eq!(statements.len(), 18);
    for text in statements {
        let steps = plan(&connection, &text);
        assert!(steps.iter().any(|step| step.starts_with("SEARCH")), "{text}\n{steps:#?}");
        // `r` is a bounded part that was searched before, and `counted` its groups.
        let bounded = ["SCAN r", "SCAN counted"];
        let scans = |step: &String| step.starts_with("SCAN") && !bounded.contains(&step.as_str());
        assert!(!steps.iter().any(scans), "{text}\n{steps:#?}");
    }
}

#[tokio::test]
async fn a_request_for_a_score_is_three_index_reads() {
    let (_directory, connection) = migrated().await;
    let first = statements(Engine::Sqlite).await.swap_remove(0);
    let steps = plan(&connection, &first);
    assert_eq!(steps.len(), 3, "{steps:#?}");
    for (step, (table, by)) in
        steps.iter().zip([("k", "key_hash=?"), ("s", "rowid=?"), ("c", "scorer_id=? AND address=?")])
    {
        assert!(step.starts_with(&format!("SEARCH {table} USING")) && step.contains(by), "{step}");
    }
}

#[tokio::test]
async fn a_score_whose_scorer_is_known_is_read_from_its_place_alone() {
    let (_directory, connection) = migrated().await;
    let second = statements(Engine::Sqlite).await.swap_remove(1);
    let steps = plan(&connection, &second);
    assert_eq!(steps, ["SEARCH scores USING INTEGER PRIMARY KEY (rowid=?)"]);
}

/// Steps of SQLite's query plan.
fn plan(connection: &rusqlite::Connection, text: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap()
}
