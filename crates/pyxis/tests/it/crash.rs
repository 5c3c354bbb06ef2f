//! Crashes under load: the server is killed at random moments, and everything it acknowledged must survive.
//!
//! Agents send requests that wait and an owner decides them, and one agent sends requests that pass without asking.
//! Meanwhile the process is killed (`kill -9`) and started again. Every request carries a number in its path, so that
//! the upstream can tell them apart even if it received only the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::Method;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::{Dice, figures, rounds};
use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::app::Node;
use crate::support::client::Unanswered;
use crate::support::{Agent, Call, Client, HttpResponse, Person, Setup, Site};

/// Number of times the server is killed, in the short and the long form.
const KILLS: [usize; 2] = [20, 200];
/// Number of times one of three nodes is killed, in the short and the long form.
const KILLS_OF_NODES: [usize; 2] = [6, 200];
/// Agents whose requests wait for the owner.
pub(crate) const AGENTS: usize = 5;

/// An owner's decision about a request; `acknowledged` is true if the server confirmed it.
#[derive(Clone, Debug)]
struct RecordedDecision {
    txn: String,
    approve: bool,
    acknowledged: bool,
}

/// The load so far, by the number of the request.
pub(crate) struct RequestLog {
    decisions: Mutex<BTreeMap<u64, RecordedDecision>>,
    /// Numbers of the answered requests that passed without asking.
    read: Mutex<BTreeSet<u64>>,
    next: AtomicU64,
    /// Decisions that the server acknowledged.
    acknowledged: watch::Sender<u64>,
    /// Number of times the server was started; [`OVER`] ends the work.
    life: watch::Sender<usize>,
    /// True if the database goes away, so that requests are refused with 503.
    loses_database: bool,
    /// Requests that found nothing listening.
    not_sent: AtomicU64,
    /// Requests whose connection ended before the response.
    cut: AtomicU64,
}

/// Marks that the server will not start again.
const OVER: usize = usize::MAX;

impl RequestLog {
    pub(crate) fn new(loses_database: bool) -> Arc<Self> {
        Arc::new(Self {
            decisions: Mutex::default(),
            read: Mutex::default(),
            next: AtomicU64::new(0),
            acknowledged: watch::Sender::new(0),
            life: watch::Sender::new(0),
            loses_database,
            not_sent: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        })
    }

    /// Number of requests that found nothing listening, and of those whose connection ended before the response.
    pub(crate) fn unanswered(&self) -> (u64, u64) {
        (self.not_sent.load(Ordering::Relaxed), self.cut.load(Ordering::Relaxed))
    }

    /// Lets the workers of a server that was replaced go on.
    pub(crate) fn goes_on(&self) {
        self.life.send_modify(|life| *life += 1);
    }

    async fn attempt(&self, call: Call) -> Option<HttpResponse> {
        match call.attempt_once().await {
            Ok(answer) => return Some(answer),
            Err(Unanswered::NotSent) => &self.not_sent,
            Err(Unanswered::Cut) => &self.cut,
        }
        .fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Number of decisions that the server acknowledged.
    pub(crate) fn acknowledged(&self) -> watch::Receiver<u64> {
        self.acknowledged.subscribe()
    }

    /// Ends the work.
    pub(crate) async fn end(&self, mut load: JoinSet<()>) {
        self.life.send_replace(OVER);
        while let Some(worker) = load.join_next().await {
            worker.unwrap();
        }
    }

    /// True if the answer says that the database is away. The server asks to wait, and the load does not.
    fn is_refused(&self, answer: &HttpResponse) -> bool {
        let is_refused = self.loses_database && answer.status == 503;
        assert!(!is_refused || answer.header("retry-after").is_some(), "{answer:?}");
        is_refused
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn record_decision(&self, number: u64, decision: RecordedDecision) {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).insert(number, decision);
    }

    fn read(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a request that waits and has it decided, repeatedly. Every third one is denied.
pub(crate) async fn work(agent: Agent, owner: Person, target: String, log: Arc<RequestLog>) {
    let mut life = log.life.subscribe();
    loop {
        let this_life = *life.borrow_and_update();
        if this_life == OVER {
            return;
        }
        let number = log.number();
        let call = agent.forward("api", "POST", &format!("{target}{number}")).body("a body to approve");
        let Some(paused) = log.attempt(call).await else {
            next_life(&mut life, this_life).await;
            continue;
        };
        if log.is_refused(&paused) {
            continue;
        }
        assert_eq!(paused.status, 202, "{paused:?}");
        let txn = paused.json()["txn_id"].as_str().unwrap().to_owned();
        let approve = !number.is_multiple_of(3);
        let verb = if approve { "approve" } else { "deny" };
        log.record_decision(number, RecordedDecision { txn: txn.clone(), approve, acknowledged: false });
        let said = owner.client.post(&format!("/approvals/{txn}/{verb}"), &json!({}));
        let said = log.attempt(said).await;
        if said.as_ref().is_some_and(|answer| log.is_refused(answer)) {
            continue;
        }
        if said.is_some_and(|answer| answer.status == 200) {
            log.record_decision(number, RecordedDecision { txn, approve, acknowledged: true });
            log.acknowledged.send_modify(|count| *count += 1);
        } else {
            next_life(&mut life, this_life).await;
        }
    }
}

/// Sends requests that pass without asking, repeatedly.
pub(crate) async fn read(agent: Agent, target: String, log: Arc<RequestLog>) {
    let mut life = log.life.subscribe();
    loop {
        let this_life = *life.borrow_and_update();
        if this_life == OVER {
            return;
        }
        let number = log.number();
        match log.attempt(agent.forward("api", "GET", &format!("{target}{number}"))).await {
            Some(answer) if log.is_refused(&answer) => {}
            Some(answer) => {
                answer.forwarded(200);
                log.read().insert(number);
            }
            None => next_life(&mut life, this_life).await,
        }
    }
}

/// Sends a request that must be answered with the same body each time, repeatedly. Adds up the responses.
pub(crate) async fn repeat(
    client: Client,
    path: String,
    expected: Value,
    log: Arc<RequestLog>,
    sum: Arc<AtomicU64>,
) {
    let mut life = log.life.subscribe();
    loop {
        let this_life = *life.borrow_and_update();
        if this_life == OVER {
            return;
        }
        match log.attempt(client.get(&path)).await {
            Some(answer) => {
                assert_eq!(answer.expect(200).json(), expected);
                sum.fetch_add(1, Ordering::Relaxed);
            }
            None => next_life(&mut life, this_life).await,
        }
    }
}

/// Waits until the server that broke off has been replaced by another.
async fn next_life(life: &mut watch::Receiver<usize>, this_life: usize) {
    life.wait_for(|life| *life != this_life).await.unwrap();
}

/// The number in a request's path.
fn number(target: &str) -> u64 {
    target.rsplit('/').next().unwrap().parse().unwrap()
}

engines! {
    async fn crash_at_random_moments_loses_no_decision_and_sends_nothing_twice(setup: Setup) {
        let [short, long] = KILLS;
        crashes(Site::with(setup).await, Vec::new(), rounds(short, long)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crashes_of_three_nodes_lose_no_decision_and_send_nothing_twice_on_postgres() {
    let site = Site::with(Setup::on(Database::migrated("crashes of three nodes").await)).await;
    let others = vec![site.app.another_node(), site.app.another_node()];
    let [short, long] = KILLS_OF_NODES;
    crashes(site, others, rounds(short, long)).await;
}

engines! {
    async fn a_request_that_passed_and_was_cut_by_a_crash_has_an_unknown_outcome(setup: Setup) {
        let mut site = Site::with(setup).await;
        site.forward("GET", "/before").send().await.forwarded(200);
        let (reply, release) = Reply::ok("late").hold();
        site.upstream.reply(reply);
        let (agent, target) = (site.agent.clone(), site.upstream.url("/cut"));
        let cut = tokio::spawn(async move { agent.forward("api", "GET", &target).attempt().await });
        site.upstream.received(2).await;
        site.app.kill().await;
        assert!(cut.await.unwrap().is_none(), "the connection ended with the process");
        drop(release);
        // The second start finds nothing more to settle.
        for _ in 0..2 {
            site.app.serve();
            // What the dead process left is settled after the first line and before the first request.
            site.app.owner().client.get("/approvals").send().await.expect(200);
            let forwards = site.forwards().await;
            let of = |path: &str| {
                forwards.iter().find(|record| record["detail"]["target"].as_str().unwrap().ends_with(path)).unwrap()
            };
            assert_eq!(of("/before")["outcome"]["error"], Value::Null, "{forwards:?}");
            assert_eq!(of("/cut")["outcome"]["error"], "outcome_unknown", "{forwards:?}");
            assert_eq!(forwards.len(), 2);
            site.app.kill().await;
        }
        site.app.serve();
        site.app.cli(&["audit", "verify"]).await.expect(0);
    }
}

/// Kills a node at random, again and again, while all of them are under load.
async fn crashes(mut site: Site, mut others: Vec<Node>, kills: usize) {
    site.owner.lift_pending_limits().await;
    let log = RequestLog::new(false);
    let mut acknowledged = log.acknowledged();
    let mut load = JoinSet::new();
    let target = site.upstream.url("/act/");
    let mut clients = vec![(site.agent.clone(), site.owner.clone())];
    let (key, token) = (&site.agent.key, site.app.owner_token());
    clients.extend(others.iter().map(|node| (node.agent(key), node.person(token))));
    for (agent, owner) in clients.iter().cycle().take(AGENTS) {
        load.spawn(work(agent.clone(), owner.clone(), target.clone(), Arc::clone(&log)));
    }
    for (agent, _) in &clients {
        load.spawn(read(agent.clone(), target.clone(), Arc::clone(&log)));
    }
    let mut dice = Dice::new();
    for life in 1..=kills {
        // The moment is a random count of acknowledged decisions; everything else is in flight then.
        let until = *acknowledged.borrow() + dice.below(24);
        tokio::select! {
            reached = acknowledged.wait_for(|count| *count >= until) => drop(reached.unwrap()),
            worker = load.join_next() => panic!("a worker ended: {worker:?}"),
        }
        if let Some(other) = others.get_mut(dice.index(clients.len())) {
            site.app.crash(other);
        } else {
            site.app.kill().await;
            site.app.serve();
        }
        log.life.send_replace(life);
    }
    log.end(load).await;
    let report = check_all(&site, &log).await;
    assert!(report.acknowledged >= kills, "{report:?} for {kills} crashes");
    assert!(report.reads >= kills, "{report:?} for {kills} crashes");
    assert!(report.unknown <= kills * AGENTS, "{report:?}");
    assert!(report.unanswered_reads <= kills, "{report:?}");
    let (refused, cut) = log.unanswered();
    let (nodes, engine) = (clients.len(), if site.app.is_postgres() { "PostgreSQL" } else { "SQLite" });
    figures(
        "kills",
        &format!(
            "{kills} of {nodes} nodes on {engine}, {report:?}, {refused} connections refused, {cut} cut"
        ),
    );
}

/// The load as a whole.
#[derive(Debug)]
pub(crate) struct Report {
    /// Decisions that the server acknowledged.
    pub(crate) acknowledged: usize,
    /// Approved requests whose outcome is unknown.
    pub(crate) unknown: usize,
    /// Answered requests that passed without asking.
    pub(crate) reads: usize,
    /// Requests that passed and reached the upstream, and whose answer was lost.
    pub(crate) unanswered_reads: usize,
}

/// Checks that nothing acknowledged was lost, nothing was sent twice or without a record, and everything has an end.
pub(crate) async fn check_all(site: &Site, log: &RequestLog) -> Report {
    let decisions = log.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let ends = ends(site, &decisions).await;
    let unknown = check(site, &decisions, &ends);
    let unanswered_reads = check_reads(site, &log.read());
    check_records(site, &decisions).await;
    site.app.cli(&["audit", "verify"]).await.expect(0);
    let acknowledged = decisions.values().filter(|decision| decision.acknowledged).count();
    Report { acknowledged, unknown, reads: log.read().len(), unanswered_reads }
}

/// The end of every decided request.
async fn ends(site: &Site, decisions: &BTreeMap<u64, RecordedDecision>) -> BTreeMap<u64, Value> {
    let mut ends = BTreeMap::new();
    for (number, decision) in decisions {
        // Pending ones are those whose decision was lost before it was acknowledged.
        let now = site.agent.poll(&decision.txn).await;
        let end = if now["status"] == "approved" { site.agent.outcome(&decision.txn).await } else { now };
        ends.insert(*number, end);
    }
    ends
}

/// The numbers of the requests of a method that arrived, whole or in part.
fn arrived_numbers(site: &Site, method: &Method) -> BTreeSet<u64> {
    let mut sent = BTreeSet::new();
    for request in site.upstream.requests().iter().filter(|request| request.method == *method) {
        assert!(sent.insert(number(&request.target)), "sent twice: {method} {}", request.target);
    }
    sent
}

/// Returns the number of unknown outcomes.
fn check(site: &Site, decisions: &BTreeMap<u64, RecordedDecision>, ends: &BTreeMap<u64, Value>) -> usize {
    let sent = arrived_numbers(site, &Method::POST);
    let mut unknown = 0;
    for (number, decision) in decisions {
        let (end, reached) = (&ends[number], sent.contains(number));
        match end["status"].as_str().unwrap() {
            "approved" => {
                assert!(decision.approve, "{number}: {decision:?} {end}");
                if end["error"] == "outcome_unknown" {
                    unknown += 1;
                } else {
                    assert_eq!(end["response"]["status"], 200, "{number}: {end}");
                    assert!(reached, "{number} has an answer but never arrived: {end}");
                }
            }
            "denied" => assert!(!decision.approve && !reached, "{number}: {decision:?} {end}"),
            "pending" => assert!(!decision.acknowledged && !reached, "{number}: {decision:?} {end}"),
            other => panic!("{number}: {other}"),
        }
    }
    for number in &sent {
        assert!(
            decisions.get(number).is_some_and(|decision| decision.approve),
            "{number} was sent without a decision"
        );
    }
    unknown
}

/// Checks that every answered request had arrived. Returns the number of others that did.
fn check_reads(site: &Site, read: &BTreeSet<u64>) -> usize {
    let sent = arrived_numbers(site, &Method::GET);
    assert!(sent.is_superset(read), "answered, but never sent: {:?}", read.difference(&sent));
    sent.len() - read.len()
}

/// Checks that everything that reached the upstream was recorded before, whenever the process died.
async fn check_records(site: &Site, decisions: &BTreeMap<u64, RecordedDecision>) {
    let records = site.app.audit().await;
    let of = |kind: &str, decision: &str| {
        let (kind, decision) = (kind.to_owned(), decision.to_owned());
        records.iter().filter(move |record| record["kind"] == kind && record["decision"] == decision)
    };
    let passed =
        of("request.received", "auto").map(|record| number(record["detail"]["target"].as_str().unwrap()));
    let passed: BTreeSet<u64> = passed.collect();
    let reads = arrived_numbers(site, &Method::GET);
    assert!(reads.is_subset(&passed), "sent without a record: {:?}", reads.difference(&passed));
    let executed = of("request.executed", "approved").filter_map(|record| record["txn_id"].as_str());
    let executed: BTreeSet<&str> = executed.collect();
    for number in arrived_numbers(site, &Method::POST) {
        assert!(executed.contains(decisions[&number].txn.as_str()), "{number} was sent without a record");
    }
}
