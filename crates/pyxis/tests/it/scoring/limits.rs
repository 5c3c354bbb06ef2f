//! Limits of API keys over real processes (`docs/reference/behavior/scoring.md#rate-limits`). They are exact for any
//! combination of processes, including restarted ones; after a kill they may be too strict, never too lenient.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::window::quarter_start;
use pyxis_testkit::engines;
use tokio::task::JoinHandle;

use super::installation::address;
use crate::support::{App, Call, Client, HttpResponse, Setup, until};
use pyxis_testkit::postgres::Database;

const LIMITED: &str = r#"{"detail":"You have been rate limited!"}"#;
/// 125 requests in a window.
const NEAR: [&str; 2] = ["--tier", "1"];
/// So far from the limit that only the number of admitted requests bounds the size of reserved blocks.
const FAR: [&str; 4] = ["--tier", "4", "--limit", "1000000"];

/// Runs `work` with a new key of this tier. If the window ends meanwhile, the next one has a new budget, and the work
/// is repeated with another key.
async fn in_one_window<T>(app: &mut App, tier: &[&str], mut work: impl AsyncFnMut(&mut App, &str) -> T) -> T {
    loop {
        let window = quarter_start(SystemClock.now());
        let key = app.cli_json(&[&["api-key", "add", "website"], tier].concat()).await;
        let said = work(app, key["key"].as_str().unwrap()).await;
        if quarter_start(SystemClock.now()) == window {
            return said;
        }
    }
}

fn call(node: &Client, key: &str) -> Call {
    node.get(&format!("/v2/stamps/1/score/{}", address(1))).header("x-api-key", key)
}

/// Sends requests at once, to each node in turn. Returns the remaining counts of the admitted ones, in order.
async fn send_at_once(nodes: &[Client], key: &str, requests: usize) -> Vec<i64> {
    let asked = nodes.iter().cycle().take(requests).map(|node| tokio::spawn(call(node, key).send()));
    let mut left = Vec::new();
    for answer in asked.collect::<Vec<_>>() {
        let answer = answer.await.unwrap();
        let remaining = remaining(&answer);
        if answer.status == 200 {
            left.push(remaining);
        } else {
            assert_eq!((answer.expect(429).text().as_str(), remaining), (LIMITED, 0));
        }
    }
    left.sort_unstable();
    left
}

/// The remaining counts after each of these requests.
fn numbers(from: i64, to: i64) -> Vec<i64> {
    (from..to).collect()
}

fn remaining(answer: &HttpResponse) -> i64 {
    answer.header("ratelimit-remaining").unwrap().parse().unwrap()
}

/// Clients that send one request after the other until one is not answered.
struct Load {
    answered: Arc<AtomicUsize>,
    asking: Vec<JoinHandle<Vec<i64>>>,
}

impl Load {
    const CLIENTS: i64 = 16;

    fn on(nodes: &[Client], key: &str) -> Self {
        let answered = Arc::<AtomicUsize>::default();
        let asking = (0..Self::CLIENTS).zip(nodes.iter().cycle());
        let asking =
            asking.map(|(_, node)| tokio::spawn(ask_on(node.clone(), key.to_owned(), answered.clone())));
        Self { asking: asking.collect(), answered }
    }

    /// Returns once this many requests were answered.
    async fn reaches(&self, answers: usize) {
        let enough = async || (self.answered.load(Ordering::Relaxed) >= answers).then_some(());
        until("some hundred answers", enough).await;
    }

    /// The remaining counts that they were told, in order.
    async fn ended(self) -> Vec<i64> {
        let mut left = Vec::new();
        for asking in self.asking {
            left.extend(asking.await.unwrap());
        }
        left.sort_unstable();
        left
    }
}

async fn ask_on(node: Client, key: String, answered: Arc<AtomicUsize>) -> Vec<i64> {
    let mut left = Vec::new();
    while let Some(answer) = call(&node, &key).attempt().await.filter(|answer| answer.status == 200) {
        left.push(remaining(&answer));
        answered.fetch_add(1, Ordering::Relaxed);
    }
    left
}

/// Checks that a window continues where it was when a process was killed. Everything that was answered is counted, plus
/// at most the requests in flight and a tenth of the window.
fn assert_goes_on(told: &[i64], left: i64) {
    let most = 999_999 - i64::try_from(told.len()).unwrap();
    assert!((most - Load::CLIENTS - 100_000..=most).contains(&left), "{left} of {most}");
}

engines! {
    async fn a_window_goes_on_over_a_restart_and_a_crash(setup: Setup) {
        let mut app = App::start(setup).await;
        let left = in_one_window(&mut app, &NEAR, async |app, key| {
            let first = send_at_once(&[app.anonymous()], key, 40).await;
            app.restart().await;
            let restarted = send_at_once(&[app.anonymous()], key, 40).await;
            app.kill().await;
            app.serve();
            let crashed = send_at_once(&[app.anonymous()], key, 60).await;
            app.restart().await;
            [first, restarted, crashed, send_at_once(&[app.anonymous()], key, 5).await]
        });
        assert_eq!(left.await, [numbers(85, 125), numbers(45, 85), numbers(0, 45), numbers(0, 0)]);
    }

    async fn a_crash_far_from_the_limit_forgets_no_request_and_costs_at_most_a_tenth_of_the_window(setup: Setup) {
        let mut app = App::start(setup).await;
        let (told, left) = in_one_window(&mut app, &FAR, async |app, key| {
            let load = Load::on(&[app.anonymous()], key);
            load.reaches(600).await;
            app.kill().await;
            let told = load.ended().await;
            app.serve();
            (told, send_at_once(&[app.anonymous()], key, 1).await)
        })
        .await;
        assert_goes_on(&told, left[0]);
        assert!(left[0] < told[0], "{left:?} after {}", told[0]);
    }

    /// In this test, the database also fails for a while.
    async fn a_process_that_ends_in_order_leaves_counted_exactly_what_it_answered(setup: Setup) {
        let mut app = App::start(setup).await;
        let (told, left) = in_one_window(&mut app, &FAR, async |app, key| {
            let load = Load::on(&[app.anonymous()], key);
            load.reaches(400).await;
            app.sql("ALTER TABLE usage_windows RENAME TO gone");
            let told = load.ended().await;
            app.sql("ALTER TABLE gone RENAME TO usage_windows");
            assert!(app.stop().await.success());
            app.serve();
            (told, send_at_once(&[app.anonymous()], key, 1).await)
        })
        .await;
        let all = 1_000_000 - i64::try_from(told.len()).unwrap();
        assert_eq!((told, left), (numbers(all, 1_000_000), vec![all - 1]));
    }
}

/// Score requests bypass the router, other methods on the same path do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_method_on_the_path_of_a_score_counts_like_those_that_get_it() {
    let mut app = App::start(Setup::new()).await;
    let told = in_one_window(&mut app, &NEAR, async |app, key| {
        let mut told = Vec::new();
        for method in ["GET", "PATCH", "HEAD", "PUT", "GET", "DELETE", "GET"] {
            let path = format!("/v2/stamps/1/score/{}", address(1));
            let answer = app.anonymous().call(method, &path).header("x-api-key", key).send().await;
            told.push((answer.status, answer.header("allow").map(str::to_owned), remaining(&answer)));
        }
        told
    });
    let taken = |left| (200, None, left);
    let refused = |left| (405, Some("GET,HEAD,POST".to_owned()), left);
    assert_eq!(
        told.await,
        [taken(124), refused(123), taken(122), refused(121), taken(120), refused(119), taken(118)]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_postgres_database_have_one_window() {
    let database = Database::migrated("two_limits").await;
    let mut app = App::start(Setup::on(database)).await;
    let node = app.another_node();
    let left = in_one_window(&mut app, &NEAR, async |app, key| {
        let both = send_at_once(&[app.anonymous(), node.anonymous()], key, 200).await;
        app.restart().await;
        [both, send_at_once(&[app.anonymous(), node.anonymous()], key, 4).await]
    });
    assert_eq!(left.await, [numbers(0, 125), numbers(0, 0)]);

    let left = in_one_window(&mut app, &FAR, async |app, key| {
        let admitted = send_at_once(&[app.anonymous(), node.anonymous()], key, 400).await.len();
        // Reserved requests are returned automatically when no one asks any more.
        let counted = "SELECT CAST(admitted AS TEXT) FROM usage_windows ORDER BY last_at DESC LIMIT 1";
        until("the rest to go back", async || (app.sql(counted) == ["400"]).then_some(())).await;
        app.restart().await;
        let known = send_at_once(&[node.anonymous()], key, 1).await;
        (admitted, known, send_at_once(&[app.anonymous()], key, 1).await)
    });
    assert_eq!(left.await, (400, vec![999_599], vec![999_598]));

    let (told, left) = in_one_window(&mut app, &FAR, async |app, key| {
        let node = app.another_node();
        let (other, load) = (Load::on(&[node.anonymous()], key), Load::on(&[app.anonymous()], key));
        other.reaches(300).await;
        load.reaches(300).await;
        // This one is killed, the other one shuts down in order.
        drop(node);
        let mut told = other.ended().await;
        app.stop().await;
        told.extend(load.ended().await);
        told.sort_unstable();
        app.serve();
        (told, send_at_once(&[app.anonymous()], key, 1).await)
    })
    .await;
    assert_goes_on(&told, left[0]);
}
