//! A question at height B is answered from the state at B, permanently
//! (`docs/reference/behavior/verification.md#heights`). Whatever happens in whatever order, replaying the log up to B
//! gives Pyxis's later answers about B, and no answer ever changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::field::FieldElement;
use pyxis_core::proof::{
    DEFAULT_ACTION, Kind, NetworkName, ProofNullifier, Rebinding, Registration, Revocation, Statement,
    Subject,
};
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_store::proof_log::{self, Change, LogRow};
use pyxis_store::proofs::Filter;
use pyxis_testbed::{NoManagers, verification_parts};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::installation::{START, Workspace};
use pyxis_verify::block_height::{self, Snapshot};
use pyxis_verify::checker::{self, CheckRequest};
use pyxis_verify::registry::{self, IssuerKey};
use pyxis_verify::service::{blocklist, issuers, proofs};
use pyxis_verify::{Config, State, VerificationDependencies};

/// Addresses and nullifiers of a run: few, so that they collide.
const FEW: u8 = 4;

/// Kind and network of a proof: the same people have one nullifier on two networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProofScope {
    Optimism,
    BaseSepolia,
    Residence,
}

const SCOPES: [ProofScope; 3] = [ProofScope::Optimism, ProofScope::BaseSepolia, ProofScope::Residence];

impl ProofScope {
    const fn kind(self) -> Kind {
        if matches!(self, Self::Residence) { Kind::ResidenceUs } else { Kind::GovId }
    }

    fn network(self) -> NetworkName {
        let name = if self == Self::BaseSepolia { "base-sepolia" } else { "optimism" };
        name.parse().unwrap()
    }
}

/// An event of a history. Statements were signed `ago` seconds before.
#[derive(Clone, Debug)]
enum Step {
    Register {
        scope: ProofScope,
        who: u8,
        nullifier: u8,
        seconds: u16,
        ago: u8,
    },
    Revoke {
        scope: ProofScope,
        who: u8,
        ago: u8,
    },
    /// By a manager.
    Strike {
        scope: ProofScope,
        who: u8,
    },
    Rebind {
        scope: ProofScope,
        from: u8,
        to: u8,
        nullifier: u8,
        ago: u8,
    },
    Block {
        who: u8,
    },
    Unblock {
        who: u8,
    },
    Pass {
        millis: u16,
    },
    Ask {
        back: u8,
    },
}

fn scope() -> impl Strategy<Value = ProofScope> {
    prop_oneof![2 => Just(ProofScope::Optimism), 1 => Just(ProofScope::BaseSepolia), 1 => Just(ProofScope::Residence)]
}

/// Mostly now.
fn ago() -> impl Strategy<Value = u8> {
    prop_oneof![2 => Just(0), 1 => 1_u8..12]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (scope(), 0..FEW, 0..FEW, 1_u16..20, ago()).prop_map(|(scope, who, nullifier, seconds, ago)| {
            Step::Register { scope, who, nullifier, seconds, ago }
        }),
        1 => (scope(), 0..FEW, ago()).prop_map(|(scope, who, ago)| Step::Revoke { scope, who, ago }),
        1 => (scope(), 0..FEW).prop_map(|(scope, who)| Step::Strike { scope, who }),
        2 => (scope(), 0..FEW, 0..FEW, 0..FEW, ago()).prop_map(|(scope, from, to, nullifier, ago)| {
            Step::Rebind { scope, from, to, nullifier, ago }
        }),
        1 => (0..FEW).prop_map(|who| Step::Block { who }),
        1 => (0..FEW).prop_map(|who| Step::Unblock { who }),
        4 => (0_u16..4000).prop_map(|millis| Step::Pass { millis }),
        3 => (0_u8..6).prop_map(|back| Step::Ask { back }),
    ]
}

/// Places and addresses with a live proof.
type Holders = BTreeSet<(ProofScope, u8)>;

/// A workspace, and everything that was answered about it.
struct History {
    state: State,
    key: IssuerKey,
    actor: Actor,
    nonce: u32,
    /// Every answer given: live proofs by height.
    given: BTreeMap<i64, Holders>,
    /// For each address and scope, the second before which no signed statement may take effect any more.
    spoken: BTreeMap<(ProofScope, u8), i64>,
    /// Removed last.
    main: Workspace,
}

fn subject(number: u8) -> Subject {
    EvmAddress([number + 1; 20]).into()
}

fn nullifier(number: u8) -> ProofNullifier {
    ProofNullifier(FieldElement::small(u64::from(number) + 1))
}

/// Verification of a workspace.
pub(crate) fn verification(main: &Workspace, config: Config) -> State {
    let net = Client::new(&ClientConfig::new(Guard::new(Vec::new(), Vec::new()))).unwrap();
    State::new(VerificationDependencies {
        config,
        ..verification_parts(main, Arc::new(NoManagers), net.private())
    })
}

impl History {
    async fn new(database: TestDatabase) -> Self {
        let main = Workspace::start(database).await;
        let state = verification(&main, Config::default());
        // Block 1 is now, not whenever the first step asks.
        block_height::start(&state).await.unwrap();
        let (key, actor) = (IssuerKey::generate(&SeededEntropy::new(2)), Actor::cli(main.id));
        for kind in [Kind::GovId, Kind::ResidenceUs] {
            issuers::add(&state.audited, &actor, kind, key.issuer(), "Ours").await.unwrap();
        }
        Self { state, key, actor, nonce: 0, given: BTreeMap::new(), spoken: BTreeMap::new(), main }
    }

    fn statement(&mut self, step: &Step) -> Option<Statement> {
        self.nonce += 1;
        let (action_id, nonce) = (DEFAULT_ACTION, self.nonce.to_string());
        let signed = |ago: u8| self.main.clock.now().seconds() - i64::from(ago);
        Some(match *step {
            Step::Register { scope, who, nullifier: mark, seconds, ago } => {
                Statement::Register(Registration {
                    kind: scope.kind(),
                    network: scope.network(),
                    subject: subject(who),
                    action_id,
                    nullifier: nullifier(mark),
                    issued_at: signed(ago),
                    expires_at: signed(ago) + i64::from(seconds),
                    nonce,
                })
            }
            Step::Revoke { scope, who, ago } => Statement::Revoke(Revocation {
                kind: scope.kind(),
                network: scope.network(),
                subject: subject(who),
                action_id,
                reason: "lost".to_owned(),
                issued_at: signed(ago),
                nonce,
            }),
            Step::Rebind { scope, from, to, nullifier: mark, ago } => Statement::Rebind(Rebinding {
                kind: scope.kind(),
                from: subject(from),
                to: subject(to),
                action_id,
                nullifier: nullifier(mark),
                issued_at: signed(ago),
                nonce,
            }),
            _ => return None,
        })
    }

    async fn apply(&mut self, step: &Step) {
        if let Some(statement) = self.statement(step) {
            // Many are refused: that is intended.
            if registry::submit(&self.state, &self.key.sign(statement)).await.is_ok_and(|done| done.new) {
                self.took_effect(step);
            }
            return;
        }
        match *step {
            Step::Strike { scope, who } => {
                let (kind, network) = (scope.kind(), scope.network());
                let place_of =
                    proofs::ProofKey { network, kind, subject: subject(who), action_id: DEFAULT_ACTION };
                if proofs::revoke(&self.state, &self.actor, &place_of, "forged").await.is_ok() {
                    self.spoken.insert((scope, who), self.main.clock.now().seconds() + 1);
                }
            }
            Step::Block { who } => {
                blocklist::block(&self.state, &self.actor, subject(who), None, "sold").await.unwrap();
            }
            Step::Unblock { who } => {
                drop(blocklist::unblock(&self.state, &self.actor, subject(who), None).await);
            }
            Step::Pass { millis } => self.main.clock.advance(Duration::from_millis(millis.into())),
            Step::Ask { back } => {
                let height = (self.head().await - i64::from(back)).max(0);
                let answer = self.live_proofs(height).await;
                let before = self.given.insert(height, answer.clone());
                assert!(before.is_none_or(|before| before == answer), "the answer about {height} changed");
            }
            Step::Register { .. } | Step::Revoke { .. } | Step::Rebind { .. } => {}
        }
    }

    /// Records that nothing signed earlier may take effect after what was signed later.
    fn took_effect(&mut self, step: &Step) {
        let now = self.main.clock.now().seconds();
        let mut spoke = |scope: ProofScope, who: u8, signed: i64, next: i64| {
            let before = self.spoken.insert((scope, who), next).unwrap_or(0);
            assert!(signed >= before, "{step:?} was signed at {signed}, but {before} had been spoken");
        };
        match *step {
            Step::Register { scope, who, ago, .. } => {
                let signed = now - i64::from(ago);
                spoke(scope, who, signed, signed);
            }
            Step::Revoke { scope, who, ago } => {
                let signed = now - i64::from(ago);
                spoke(scope, who, signed, signed + 1);
            }
            // Only the log knows what this moved; no later statement was about the address that it names.
            _ => {}
        }
    }

    async fn head(&self) -> i64 {
        let network = self.state.networks().find_by_name("optimism").unwrap();
        block_height::latest(&self.state, network).await.unwrap().height
    }

    /// Live proofs at a height, queried in bulk and one by one.
    async fn live_proofs(&self, height: i64) -> Holders {
        let mut holders = Holders::new();
        for scope in SCOPES {
            let name = scope.network();
            let network = self.state.networks().find_by_name(name.as_str()).unwrap();
            let action_id = (scope != ProofScope::Residence).then_some(DEFAULT_ACTION);
            let ask =
                CheckRequest { network, kind: scope.kind(), action_id, snapshot: Snapshot::Block(height) };
            let all: Vec<Subject> = (0..FEW).map(subject).collect();
            let many = checker::check_many(&self.state, ask, &all, false).await.unwrap();
            let told = checker::check_many(&self.state, ask, &all, true).await.unwrap();
            for (number, (plain, told)) in all.iter().zip(many.iter().zip(&told)) {
                let one = checker::check(&self.state, ask, *number, false).await.unwrap();
                assert_eq!((plain.is_valid(), plain.is_valid()), (told.is_valid(), one.is_valid()));
            }
            let live = (0..FEW).filter(|number| many[usize::from(*number)].is_valid());
            holders.extend(live.map(|number| (scope, number)));
        }
        holders
    }

    /// The same from the log alone.
    fn replay(log: &[LogRow], height: i64) -> Holders {
        let mut holders = Holders::new();
        for scope in SCOPES {
            let network = scope.network();
            let mut holds: BTreeMap<Subject, UnixMillis> = BTreeMap::new();
            let mut blocked: BTreeSet<Subject> = BTreeSet::new();
            let here = |row: &&LogRow| {
                let kind = row.kind.is_none_or(|kind| kind == scope.kind());
                row.network == network && kind && row.height <= height
            };
            for row in log.iter().filter(here) {
                match row.change {
                    Change::Register => drop(holds.insert(row.subject, row.expires_at.unwrap())),
                    Change::Revoke | Change::Rebind | Change::Expire => drop(holds.remove(&row.subject)),
                    Change::Block => drop(blocked.insert(row.subject)),
                    Change::Unblock => drop(blocked.remove(&row.subject)),
                }
            }
            let at = UnixMillis(START.0 + (height - 1) * 1000);
            let live = |number: &u8| {
                let subject = subject(*number);
                holds.get(&subject).is_some_and(|until| *until > at) && !blocked.contains(&subject)
            };
            holders.extend((0..FEW).filter(live).map(|number| (scope, number)));
        }
        holders
    }

    /// Asserts that one person has one address for each use, across all networks.
    async fn has_nobody_twice(&self) {
        let rows = proofs::list(&self.state.store, &Filter::default(), 10_000).await.unwrap();
        let now = self.main.clock.now();
        let mut holders = BTreeMap::new();
        for row in rows.iter().filter(|row| row.ended.is_none() && row.expires_at > now) {
            let before = holders.insert((row.kind.as_str(), row.nullifier.to_string()), row.subject);
            assert!(before.is_none_or(|before| before == row.subject), "{row:?} and {before:?}");
        }
    }

    /// Runs all steps, and compares every answer about every block with the log.
    async fn lives_through(mut self, steps: &[Step]) {
        let mut log: Vec<LogRow> = Vec::new();
        for step in steps {
            self.apply(step).await;
            self.has_nobody_twice().await;
            let grown = proof_log::page(&self.state.store, 0, 10_000).await.unwrap();
            let (before, new) = grown.split_at_checked(log.len()).expect("the log only grows");
            assert_eq!(before, log, "what was written stands");
            let head = self.head().await;
            for row in new {
                assert_eq!(row.at, self.main.clock.now(), "{row:?}");
                assert!((1..=head + 1).contains(&row.height), "{row:?}, and the newest is {head}");
            }
            log = grown;
        }
        self.main.clock.advance(Duration::from_secs(3));
        let log = proof_log::page(&self.state.store, 0, 10_000).await.unwrap();
        for height in 0..=self.head().await {
            let answer = self.live_proofs(height).await;
            assert_eq!(answer, Self::replay(&log, height), "block {height}");
            let given = self.given.get(&height);
            assert!(given.is_none_or(|given| *given == answer), "the answer about {height} changed");
        }
    }
}

/// Tries `cases` histories; `once` runs one on a new database.
fn property(cases: u32, once: impl AsyncFn(Vec<Step>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let steps = prop::collection::vec(step(), 1..50);
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
            let database = TestDatabase::sqlite();
            History::new(database).await.lives_through(&steps).await;
        });
    }

    #[test]
    fn postgres() {
        property(8, async |steps| {
            let database = TestDatabase::postgres("replay").await;
            History::new(database).await.lives_through(&steps).await;
        });
    }
}
