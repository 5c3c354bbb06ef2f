//! Three nodes under load that are replaced one after the other by those of another release, back and forth.
//!
//! In the short form, both releases are the built program, and the schema becomes newer on the way.
//! `PX_TEST_PREVIOUS_PYXIS` names the program of an earlier release for the long form (`ci/upgrade.sh`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyxis_testkit::long_form::{Dice, figures};
use pyxis_testkit::postgres::Database;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::scored::Scored;
use super::{LATER, script_setting};
use crate::crash::{AGENTS, RequestLog, check_all, read, repeat, work};
use crate::support::app::Node;
use crate::support::{PATIENCE, Setup, Site};

/// The nodes, and the load on them.
struct Cluster {
    site: Site,
    others: [Node; 2],
    log: Arc<RequestLog>,
    load: JoinSet<()>,
    acknowledged: watch::Receiver<u64>,
    scores: Arc<AtomicU64>,
    /// Decisions between two replacements, at least; at most twice as many.
    between: u64,
    dice: Dice,
    replaced: u32,
}

impl Cluster {
    async fn start(program: &std::path::Path, between: u64) -> Self {
        let database = Database::create("rolling").await;
        let site = Site::with(Setup::on(database).program(program)).await;
        site.owner.lift_pending_limits().await;
        let scored = Scored::add(&site.app).await;
        let others = [site.app.another_node(), site.app.another_node()];
        let log = RequestLog::new(false);
        let (mut load, target) = (JoinSet::new(), site.upstream.url("/act/"));
        let answered = Arc::new(AtomicU64::new(0));
        let key = &site.agent.key;
        let token = site.app.owner_token();
        let clients = [
            (site.agent.clone(), site.owner.clone()),
            (others[0].agent(key), others[0].person(token)),
            (others[1].agent(key), others[1].person(token)),
        ];
        for (agent, owner) in clients.iter().cycle().take(AGENTS) {
            load.spawn(work(agent.clone(), owner.clone(), target.clone(), Arc::clone(&log)));
        }
        for (agent, _) in &clients {
            load.spawn(read(agent.clone(), target.clone(), Arc::clone(&log)));
        }
        let (log_of_scores, sum) = (Arc::clone(&log), Arc::clone(&answered));
        load.spawn(repeat(scored.client, scored.path, scored.score, log_of_scores, sum));
        let acknowledged = log.acknowledged();
        Self {
            site,
            others,
            log,
            load,
            acknowledged,
            scores: answered,
            between,
            dice: Dice::new(),
            replaced: 0,
        }
    }

    /// Lets the load go on for a while.
    async fn some_load(&mut self) {
        let until = *self.acknowledged.borrow() + self.between + self.dice.below(self.between);
        tokio::select! {
            reached = tokio::time::timeout(PATIENCE * 4, self.acknowledged.wait_for(|count| *count >= until)) => {
                drop(reached.expect("decisions after a replacement").unwrap());
            }
            worker = self.load.join_next() => panic!("a worker ended: {worker:?}; {}", self.site.app.logs()),
        }
    }

    /// Replaces every node by `program`, one after the other.
    async fn roll(&mut self, program: &std::path::Path) {
        self.site.app.change(|setup| setup.program(program));
        for number in 0..=self.others.len() {
            self.some_load().await;
            if let Some(other) = self.others.get_mut(number) {
                self.site.app.replace(other);
            } else {
                assert!(self.site.app.stop().await.success(), "{}", self.site.app.logs());
                self.site.app.serve();
            }
            self.replaced += 1;
            self.log.goes_on();
        }
        self.some_load().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_are_replaced_one_by_one_under_load_lose_nothing_on_postgres() {
    let current = PathBuf::from(env!("CARGO_BIN_EXE_pyxis"));
    let previous = script_setting("PX_TEST_PREVIOUS_PYXIS").map_or_else(|| current.clone(), PathBuf::from);
    let rounds: usize = script_setting("PX_TEST_UPGRADE_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let between = if rounds == 1 { 6 } else { 40 };
    let mut cluster = Cluster::start(&previous, between).await;
    cluster.roll(&current).await;
    // The schema becomes newer than both while all nodes serve.
    cluster.site.app.postgres().run(LATER).await;
    // A release before 0.1.0 does not start on a newer schema.
    if script_setting("PX_TEST_UPGRADE_ONLY").is_none() {
        for _ in 0..rounds {
            cluster.roll(&previous).await;
            cluster.roll(&current).await;
        }
    }
    let Cluster { site, others, log, load, scores, replaced, .. } = cluster;
    log.end(load).await;
    let report = check_all(&site, &log).await;
    drop(others);
    assert_eq!((report.unknown, report.unanswered_reads), (0, 0), "{report:?}");
    let (not_sent, cut) = log.unanswered();
    let scores = scores.load(Ordering::Relaxed);
    let counts = format!(
        "{report:?}, {scores} scores, {replaced} nodes replaced, {not_sent} connections refused, {cut} cut"
    );
    figures("upgrade", &counts);
}
