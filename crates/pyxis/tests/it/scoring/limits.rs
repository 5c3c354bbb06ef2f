//! Limits of API keys over real processes (Spec 1, Limits; decisions, rate limits): exact, whichever process
//! answers, and whether it was there before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::window::quarter_start;

use super::stage::address;
use crate::postgres::Database;
use crate::support::{App, Call, Client, Setup, both_engines, until};

const LIMITED: &str = r#"{"detail":"You have been rate limited!"}"#;
/// 125 requests in a window.
const NEAR: [&str; 2] = ["--tier", "1"];
/// So far from the limit that requests are let in first and counted afterwards.
const FAR: [&str; 4] = ["--tier", "4", "--limit", "100000"];

/// What `work` says of a new key of this tier. A window may end at any moment, and the next one has a budget
/// of its own: then it is done once more, with another key.
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

/// Sends requests at once, to each node in turn. What the admitted were told that is left, in order.
async fn ask(nodes: &[Client], key: &str, requests: usize) -> Vec<i64> {
    let asked = nodes.iter().cycle().take(requests).map(|node| tokio::spawn(call(node, key).send()));
    let mut left = Vec::new();
    for answer in asked.collect::<Vec<_>>() {
        let answer = answer.await.unwrap();
        let remaining = answer.header("ratelimit-remaining").unwrap().parse().unwrap();
        if answer.status == 200 {
            left.push(remaining);
        } else {
            assert_eq!((answer.expect(429).text().as_str(), remaining), (LIMITED, 0));
        }
    }
    left.sort_unstable();
    left
}

/// The numbers that are left after each of so many requests.
fn numbers(from: i64, to: i64) -> Vec<i64> {
    (from..to).collect()
}

/// Asks one request after the other until one is not answered, and adds to `answered` for each that is.
async fn ask_on(node: Client, key: String, answered: Arc<AtomicUsize>) {
    while call(&node, &key).send().await.status == 200 {
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

both_engines! {
    async fn a_window_goes_on_over_a_restart_and_a_crash(setup: Setup) {
        let mut app = App::start(setup).await;
        let left = in_one_window(&mut app, &NEAR, async |app, key| {
            let first = ask(&[app.anonymous()], key, 40).await;
            app.restart().await;
            let restarted = ask(&[app.anonymous()], key, 40).await;
            app.kill().await;
            app.serve();
            let crashed = ask(&[app.anonymous()], key, 60).await;
            app.restart().await;
            [first, restarted, crashed, ask(&[app.anonymous()], key, 5).await]
        });
        assert_eq!(left.await, [numbers(85, 125), numbers(45, 85), numbers(0, 45), numbers(0, 0)]);
    }

    /// Far from the limit a request is answered before it is counted, and here the database fails in between.
    async fn all_that_a_process_answered_is_counted_before_it_ends_in_order(setup: Setup) {
        let mut app = App::start(setup).await;
        let (answered, left) = in_one_window(&mut app, &FAR, async |app, key| {
            let answered = Arc::new(AtomicUsize::new(0));
            let asking: Vec<_> = (0..16)
                .map(|_| tokio::spawn(ask_on(app.anonymous(), key.to_owned(), answered.clone())))
                .collect();
            let enough = async || (answered.load(Ordering::Relaxed) > 400).then_some(());
            until("some hundred answers", enough).await;
            app.sql("ALTER TABLE usage_windows RENAME TO gone");
            for task in asking {
                task.await.unwrap();
            }
            app.sql("ALTER TABLE gone RENAME TO usage_windows");
            assert!(app.stop().await.success());
            app.serve();
            (answered.load(Ordering::Relaxed), ask(&[app.anonymous()], key, 1).await)
        })
        .await;
        assert_eq!(left, [99_999 - i64::try_from(answered).unwrap()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_database_have_one_window() {
    let Some(database) = Database::create("two_limits").await else { return };
    let mut app = App::start(Setup::on(database)).await;
    let node = app.another_node();
    let left = in_one_window(&mut app, &NEAR, async |app, key| {
        let both = ask(&[app.anonymous(), node.anonymous()], key, 200).await;
        app.restart().await;
        [both, ask(&[app.anonymous(), node.anonymous()], key, 4).await]
    });
    assert_eq!(left.await, [numbers(0, 125), numbers(0, 0)]);

    let left = in_one_window(&mut app, &FAR, async |app, key| {
        let admitted = ask(&[app.anonymous(), node.anonymous()], key, 400).await.len();
        // What the one had not counted yet it counts before it ends; the other knows what is its own.
        app.restart().await;
        let known = ask(&[node.anonymous()], key, 1).await;
        (admitted, known, ask(&[app.anonymous()], key, 1).await)
    });
    assert_eq!(left.await, (400, vec![99_599], vec![99_598]));
}
