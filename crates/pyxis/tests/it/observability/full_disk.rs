//! A disk that fills up under a running server (`docs/explanation/reliability.md#full-disks`).

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;

use pyxis_testkit::long_form::{Dice, figures, rounds};
use pyxis_testkit::small_disk::{self, SmallDisk};
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::{App, HttpResponse, SECRET, Setup, Site, until};

/// Size of the disk in MiB.
const DISK: u32 = 24;
/// Number of times it is filled, in the short and the long form.
const FILLS: [usize; 2] = [1, 8];
/// Pairs of requests that are acknowledged before it is full, at least; at most twice as many.
const BEFORE: usize = 8;
/// Requests that are refused while it is full.
const REFUSED: usize = 150;
/// Bytes of a request that waits for approval, more than the disk has left.
const BODY: usize = 64 * 1024;

/// A site whose data directory is a disk of its own.
async fn site_on_small_disk() -> (Site, SmallDisk) {
    let mut app = App::empty(Setup::new().env("PX_LOG_JSON", "true"));
    std::fs::DirBuilder::new().mode(0o700).create(app.data()).unwrap();
    let disk = SmallDisk::mount(&app.data(), DISK);
    app.bootstrap = app.cli(&["bootstrap", "--json"]).await.expect(0).json();
    app.serve();
    let upstream = Upstream::http().await;
    let (agent, owner) = (app.default_agent(), app.owner());
    let site = Site { app, upstream, agent, owner };
    site.credential("api", &json!({"auth": {"kind": "bearer"}, "secret": SECRET})).await;
    (site, disk)
}

/// Asserts a refusal that says to try again.
#[track_caller]
fn assert_refused(answer: &HttpResponse) {
    answer.problem(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("5"));
}

/// Paths that reached the upstream.
fn sent(site: &Site) -> Vec<String> {
    site.upstream.requests().into_iter().map(|request| request.target).collect()
}

#[test]
fn a_full_disk_refuses_requests_loses_nothing_and_is_no_reason_for_a_restart() {
    let name =
        "observability::full_disk::a_full_disk_refuses_requests_loses_nothing_and_is_no_reason_for_a_restart";
    if small_disk::inside(name) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(fills_and_recovers());
    }
}

async fn fills_and_recovers() {
    let (mut site, disk) = site_on_small_disk().await;
    site.owner.lift_pending_limits().await;
    let approved = site.pause("/approved").await;
    site.owner.approve(&approved).await;
    assert_eq!(site.agent.outcome(&approved).await["status"], "approved");

    let [short, long] = FILLS;
    let (fills, mut dice) = (rounds(short, long), Dice::new());
    let (mut acknowledged, mut refused) = (BTreeSet::new(), 0);
    for fill in 0..fills {
        let pending = site.pause(&format!("/pending/{fill}")).await;
        for number in 0..BEFORE + dice.index(BEFORE) {
            let read = format!("/before/{fill}/{number}");
            site.forward("GET", &read).send().await.forwarded(200);
            acknowledged.insert(read);
            acknowledged.insert(site.pause(&format!("/act/before/{fill}/{number}")).await);
        }
        disk.fill();
        refused += refusals(&site, fill, &mut acknowledged).await;
        site.app.anonymous().get("/healthz").send().await.expect(200);
        disk.free();
        goes_on(&site, fill, &pending).await;
    }
    let lines = sampled_lines(&site, refused);
    nothing_is_lost(&mut site, &acknowledged).await;
    figures(
        "full disk",
        &format!(
            "filled {fills} times, {refused} refused, {} acknowledged, {lines} log lines",
            acknowledged.len()
        ),
    );
}

/// Sends requests to a server without space until [`REFUSED`] have been refused. Returns how many were.
async fn refusals(site: &Site, fill: usize, acknowledged: &mut BTreeSet<String>) -> usize {
    let mut refused = 0;
    // What the database has allocated already may still take some.
    for number in 0.. {
        let (read, act) = (format!("/read/{fill}/{number}"), format!("/act/{fill}/{number}"));
        let answer = site.forward("GET", &read).send().await;
        if answer.status == 200 {
            acknowledged.insert(read);
        } else {
            assert_refused(&answer);
            refused += 1;
        }
        let answer = site.forward("POST", &act).body(vec![b'x'; BODY]).send().await;
        if answer.status == 202 {
            acknowledged.insert(answer.txn());
        } else {
            assert_refused(&answer);
            refused += 1;
        }
        if refused >= REFUSED {
            break;
        }
        assert!(number < 10 * REFUSED, "{refused} refused");
    }
    refused
}

/// With space again, the same server serves, and sends what waited.
async fn goes_on(site: &Site, fill: usize, pending: &str) {
    let works = async || {
        let answer = site.forward("POST", &format!("/after/{fill}")).body(vec![b'x'; BODY]).send().await;
        (answer.status == 202).then(|| answer.txn())
    };
    let after = until("space to be used", works).await;
    site.app.anonymous().get("/readyz").send().await.expect(200);
    for txn in [pending, &after] {
        site.owner.approve(txn).await;
        assert_eq!(site.agent.outcome(txn).await["response"]["status"], 200);
    }
}

/// The log may not fill another disk: it has few lines, however many requests are refused. Returns how many.
fn sampled_lines(site: &Site, refused: usize) -> usize {
    let logs = site.app.logs();
    let lines: Vec<Value> = logs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let troubles = lines.iter().filter(|line| line["level"] == "ERROR" || line["level"] == "WARN").count();
    assert!(troubles > 0, "the operator is told");
    assert!(troubles < refused, "{troubles} lines for {refused} refusals");
    assert!(!logs.contains("panicked"), "{logs}");
    troubles
}

/// Every acknowledged request is there, also after a restart, and no request was sent without a record.
async fn nothing_is_lost(site: &mut Site, acknowledged: &BTreeSet<String>) {
    site.app.restart().await;
    site.app.cli(&["audit", "verify"]).await.expect(0);
    let base = site.upstream.url("");
    let path =
        |record: &Value| record["detail"]["target"].as_str().unwrap().strip_prefix(&base).map(str::to_owned);
    let recorded: Vec<String> = site.forwards().await.iter().filter_map(path).collect();
    for one in acknowledged {
        if one.starts_with('/') {
            assert_eq!(recorded.iter().filter(|path| *path == one).count(), 1, "{one}: {recorded:?}");
        } else {
            assert_eq!(site.agent.poll(one).await["status"], "pending", "{one}");
        }
    }
    let sent = sent(site);
    assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), sent.len(), "nothing twice: {sent:?}");
    for path in &sent {
        assert!(recorded.contains(path), "{path} was sent without a record");
    }
    let acts = sent.iter().filter(|path| path.starts_with("/act/"));
    assert_eq!(acts.count(), 0, "nothing was sent without approval");
}
