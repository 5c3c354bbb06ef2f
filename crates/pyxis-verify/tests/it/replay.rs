//! Decisions, Registry: a question at height B is answered from the state at B, for ever. Whatever happens in
//! whatever order, replaying the log up to B gives the answers that Pyxis gives about B later, and no
//! answer ever changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, FixedClock, UnixMillis};
use pyxis_core::entropy::{OsEntropy, SeededEntropy};
use pyxis_core::field::FieldElement;
use pyxis_core::id::WorkspaceId;
use pyxis_core::mode::ApprovalMode;
use pyxis_core::proof::{
    DEFAULT_ACTION, Kind, ProofNullifier, Rebinding, Registration, Revocation, Statement, Subject,
};
use pyxis_http::Managers;
use pyxis_http::managers::Managing;
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::{Keyring, MasterKey};
use pyxis_store::proof_log::{self, Change, LogRow};
use pyxis_store::workspaces::{self, WorkspaceRow};
use pyxis_store::{DatabaseUrl, OpenOptions, Store};
use pyxis_testkit::postgres::Database;
use pyxis_verify::checker::{self, Ask};
use pyxis_verify::heights::{self, Snapshot};
use pyxis_verify::registry::{self, IssuerKey};
use pyxis_verify::service::{blocklist, issuers};
use pyxis_verify::{Config, Parts, State};

const BEGIN: UnixMillis = UnixMillis(1_767_225_600_000);
/// Addresses and nullifiers of a run: few, so that they meet.
const FEW: u8 = 4;

/// What can happen.
#[derive(Clone, Debug)]
enum Step {
    Register { who: u8, nullifier: u8, seconds: u16 },
    Revoke { who: u8 },
    Rebind { from: u8, to: u8, nullifier: u8 },
    Block { who: u8 },
    Unblock { who: u8 },
    Pass { millis: u16 },
    Ask { back: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..FEW, 0..FEW, 1_u16..20).prop_map(|(who, nullifier, seconds)| Step::Register { who, nullifier, seconds }),
        1 => (0..FEW).prop_map(|who| Step::Revoke { who }),
        1 => (0..FEW, 0..FEW, 0..FEW).prop_map(|(from, to, nullifier)| Step::Rebind { from, to, nullifier }),
        1 => (0..FEW).prop_map(|who| Step::Block { who }),
        1 => (0..FEW).prop_map(|who| Step::Unblock { who }),
        3 => (0_u16..4000).prop_map(|millis| Step::Pass { millis }),
        3 => (0_u8..6).prop_map(|back| Step::Ask { back }),
    ]
}

struct Nobody;

impl Managers for Nobody {
    fn manager<'a>(&'a self, _headers: &'a HeaderMap) -> Managing<'a> {
        Box::pin(async { Err::<Actor, Response>(StatusCode::UNAUTHORIZED.into_response()) })
    }
}

struct World {
    state: State,
    clock: Arc<FixedClock>,
    key: IssuerKey,
    actor: Actor,
    nonce: u32,
    /// Every answer that was given: by height, who had a live proof.
    given: BTreeMap<i64, BTreeSet<u8>>,
}

fn subject(number: u8) -> Subject {
    EvmAddress([number + 1; 20]).into()
}

fn nullifier(number: u8) -> ProofNullifier {
    ProofNullifier(FieldElement::small(u64::from(number) + 1))
}

impl World {
    async fn new(database: DatabaseUrl) -> Self {
        let store = Store::open(&OpenOptions::new(database)).unwrap();
        store.migrate().await.unwrap();
        let master = MasterKey::generate(&OsEntropy);
        let keyring = Keyring::load(&store, &master, &OsEntropy, BEGIN).await.unwrap();
        let id = WorkspaceId::new(BEGIN, &OsEntropy);
        let workspace = WorkspaceRow {
            id,
            name: "main".to_owned(),
            mode: ApprovalMode::Gated,
            approval_timeout_secs: None,
            created_at: BEGIN,
        };
        workspaces::insert(&store, &workspace).await.unwrap();
        let clock = Arc::new(FixedClock::new(BEGIN));
        let state = State::new(Parts {
            audit_keys: AuditKeys::new(&keyring),
            keyring,
            managers: Arc::new(Nobody),
            net: Client::new(&ClientConfig::new(Guard::new(Vec::new(), Vec::new()))).unwrap(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            entropy: Arc::new(SeededEntropy::new(1)),
            config: Config::default(),
            store,
        });
        // Block 1 is now, not whenever the first step asks.
        heights::start(&state).await.unwrap();
        let (key, actor) = (IssuerKey::generate(&SeededEntropy::new(2)), Actor::cli(id));
        issuers::add(&state, &actor, Kind::GovId, key.issuer(), "Ours").await.unwrap();
        Self { state, clock, key, actor, nonce: 0, given: BTreeMap::new() }
    }

    fn statement(&mut self, step: &Step) -> Option<Statement> {
        self.nonce += 1;
        let (kind, action_id, nonce) = (Kind::GovId, DEFAULT_ACTION, self.nonce.to_string());
        let issued_at = self.clock.now().seconds();
        Some(match *step {
            Step::Register { who, nullifier: mark, seconds } => Statement::Register(Registration {
                kind,
                network: "optimism".parse().unwrap(),
                subject: subject(who),
                action_id,
                nullifier: nullifier(mark),
                issued_at,
                expires_at: issued_at + i64::from(seconds),
                nonce,
            }),
            Step::Revoke { who } => Statement::Revoke(Revocation {
                kind,
                network: "optimism".parse().unwrap(),
                subject: subject(who),
                action_id,
                reason: "lost".to_owned(),
                issued_at,
                nonce,
            }),
            Step::Rebind { from, to, nullifier: mark } => Statement::Rebind(Rebinding {
                kind,
                from: subject(from),
                to: subject(to),
                action_id,
                nullifier: nullifier(mark),
                issued_at,
                nonce,
            }),
            Step::Block { .. } | Step::Unblock { .. } | Step::Pass { .. } | Step::Ask { .. } => return None,
        })
    }

    async fn go(&mut self, step: &Step) {
        if let Some(statement) = self.statement(step) {
            // Many are refused: that is the point.
            drop(registry::submit(&self.state, &self.key.sign(statement)).await);
            return;
        }
        match *step {
            Step::Block { who } => {
                blocklist::block(&self.state, &self.actor, subject(who), None, "sold").await.unwrap();
            }
            Step::Unblock { who } => {
                drop(blocklist::unblock(&self.state, &self.actor, subject(who), None).await);
            }
            Step::Pass { millis } => self.clock.advance(Duration::from_millis(millis.into())),
            Step::Ask { back } => {
                let height = (self.head().await - i64::from(back)).max(0);
                let answer = self.ask(height).await;
                let before = self.given.insert(height, answer.clone());
                assert!(before.is_none_or(|before| before == answer), "the answer about {height} changed");
            }
            Step::Register { .. } | Step::Revoke { .. } | Step::Rebind { .. } => {}
        }
    }

    async fn head(&self) -> i64 {
        let network = self.state.networks().named("optimism").unwrap();
        heights::head(&self.state, network).await.unwrap().height
    }

    /// Who has a live proof at a height, by many at once and one by one.
    async fn ask(&self, height: i64) -> BTreeSet<u8> {
        let network = self.state.networks().named("optimism").unwrap();
        let snapshot = Snapshot::Block(height);
        let ask = Ask { network, kind: Kind::GovId, action_id: Some(DEFAULT_ACTION), snapshot };
        let all: Vec<Subject> = (0..FEW).map(subject).collect();
        let many = checker::check_many(&self.state, ask, &all, false).await.unwrap();
        let told = checker::check_many(&self.state, ask, &all, true).await.unwrap();
        for (number, (plain, told)) in all.iter().zip(many.iter().zip(&told)) {
            let one = checker::check(&self.state, ask, *number, false).await.unwrap();
            assert_eq!((plain.is_valid(), plain.is_valid()), (told.is_valid(), one.is_valid()));
        }
        (0..FEW).filter(|number| many[usize::from(*number)].is_valid()).collect()
    }

    /// The same from the log alone.
    fn replay(log: &[LogRow], height: i64) -> BTreeSet<u8> {
        let mut holds: BTreeMap<Subject, UnixMillis> = BTreeMap::new();
        let mut blocked: BTreeSet<Subject> = BTreeSet::new();
        let here = |row: &&LogRow| row.network.as_str() == "optimism" && row.height <= height;
        for row in log.iter().filter(here) {
            match row.change {
                Change::Register => drop(holds.insert(row.subject, row.expires_at.unwrap())),
                Change::Revoke | Change::Rebind | Change::Expire => drop(holds.remove(&row.subject)),
                Change::Block => drop(blocked.insert(row.subject)),
                Change::Unblock => drop(blocked.remove(&row.subject)),
            }
        }
        let at = UnixMillis(BEGIN.0 + (height - 1) * 1000);
        let live = |number: &u8| {
            let subject = subject(*number);
            holds.get(&subject).is_some_and(|until| *until > at) && !blocked.contains(&subject)
        };
        (0..FEW).filter(live).collect()
    }
}

impl World {
    /// Does all that happens, and compares every answer about every block with the log.
    async fn lives_through(mut self, steps: &[Step]) {
        for step in steps {
            self.go(step).await;
        }
        self.clock.advance(Duration::from_secs(3));
        let log = proof_log::page(&self.state.store, 0, 10_000).await.unwrap();
        for height in 0..=self.head().await {
            let answer = self.ask(height).await;
            assert_eq!(answer, Self::replay(&log, height), "block {height}");
            let given = self.given.get(&height);
            assert!(given.is_none_or(|given| *given == answer), "the answer about {height} changed");
        }
    }
}

/// Tries `cases` histories; `once` lives through one on a new database.
fn property(cases: u32, once: impl AsyncFn(Vec<Step>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let steps = prop::collection::vec(step(), 1..40);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(once(steps));
        Ok(())
    });
    outcome.unwrap();
}

mod replaying_the_log_up_to_a_block_gives_the_answers_about_it {
    use super::*;

    #[test]
    fn sqlite() {
        property(16, async |steps| {
            let directory = tempfile::tempdir().unwrap();
            World::new(DatabaseUrl::sqlite(directory.path().join("px.db"))).await.lives_through(&steps).await;
        });
    }

    #[test]
    fn postgres() {
        property(8, async |steps| {
            let Some(database) = Database::create("replay").await else { return };
            World::new(database.url()).await.lives_through(&steps).await;
            database.remove().await;
        });
    }
}
