//! Three PostgreSQL servers under Patroni. Two nodes are under load while leaders are killed, cut off and exchanged, and
//! everything that was acknowledged must survive. With asynchronous replication it need not, and must then be listed.
//! `ci/patroni.sh` starts the servers and runs this.

use std::process::Command;
use std::sync::Arc;

use pyxis_core::entropy::{self, SeededEntropy};
use pyxis_testkit::long_form::figures;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::crash::{AGENTS, RequestLog, check_all, read, work};
use crate::support::{PATIENCE, Setup, Site, until};

/// Faults of the leader.
const FAULTS: [&str; 3] = ["kill", "cut", "switchover"];
/// Decisions between two faults.
const BETWEEN: u64 = 10;

/// A value that `ci/patroni.sh` passes.
#[expect(clippy::disallowed_methods, reason = "a test finds its servers this way")]
fn script_setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is missing: run ci/patroni.sh"))
}

/// Calls the script's part that does `fault` to the leader, and returns once another one leads.
async fn strike(fault: &'static str) {
    let mut command = Command::new(script_setting("PX_TEST_PATRONI_FAULT"));
    command.arg(fault);
    let done = tokio::task::spawn_blocking(move || command.status()).await.unwrap();
    assert!(done.is_ok_and(|status| status.success()), "{fault} failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn synchronous_leaders_that_are_killed_cut_off_and_exchanged_lose_nothing_on_postgres() {
    let rounds: usize = script_setting("PX_TEST_PATRONI_ROUNDS").parse().unwrap();
    let random = SeededEntropy::new(script_setting("PX_TEST_PATRONI_SEED").parse().unwrap());
    let setup = Setup::new().env("PX_DATABASE_URL", &script_setting("PX_TEST_PATRONI"));
    let site =
        Site::with(setup.env("PX_DATABASE_TIMEOUT_SECS", "2").env("PX_DATABASE_STATEMENT_SECS", "4")).await;
    site.owner.lift_pending_limits().await;
    let second = site.app.another_node();
    let other = second.agent(site.app.bootstrap["agent_key"].as_str().unwrap());
    let other_owner = second.person(site.app.owner_token());

    let log = RequestLog::new(true);
    let mut acknowledged = log.acknowledged();
    let target = site.upstream.url("/act/");
    let mut load = JoinSet::new();
    for number in 0..AGENTS {
        let (agent, owner) =
            if number % 2 == 0 { (&site.agent, &site.owner) } else { (&other, &other_owner) };
        load.spawn(work(agent.clone(), owner.clone(), target.clone(), Arc::clone(&log)));
    }
    load.spawn(read(other.clone(), target, Arc::clone(&log)));
    for round in 0..rounds * FAULTS.len() {
        let until = *acknowledged.borrow() + BETWEEN;
        tokio::select! {
            reached = tokio::time::timeout(PATIENCE, acknowledged.wait_for(|count| *count >= until)) => {
                drop(reached.expect("decisions after the fault before").unwrap());
            }
            worker = load.join_next() => panic!("a worker ended: {worker:?}"),
        }
        // Each fault once in the short form, then in any order.
        let [byte] = entropy::bytes::<1>(&random);
        let number = if round < FAULTS.len() { round } else { usize::from(byte) };
        strike(FAULTS[number % FAULTS.len()]).await;
    }
    let until = *acknowledged.borrow() + BETWEEN;
    let goes_on = tokio::time::timeout(PATIENCE, acknowledged.wait_for(|count| *count >= until)).await;
    drop(goes_on.expect("decisions after the last fault").unwrap());
    log.end(load).await;

    let report = check_all(&site, &log).await;
    let promoted = site.app.audit().await;
    let promoted = promoted.iter().filter(|record| record["kind"] == "database.promoted").count();
    assert!(promoted >= 1, "no promotion was noticed");
    let listed = site.app.cli_json(&["audit", "in-flight", "--margin", "30"]).await;
    assert!(!listed["requests"].as_array().unwrap().is_empty(), "{listed}");
    figures("patroni", &format!("{report:?}, {promoted} promotions noticed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asynchronous_standbys_forget_a_decision_and_it_is_listed_as_in_flight_on_postgres() {
    let setup = Setup::new().env("PX_DATABASE_URL", &script_setting("PX_TEST_PATRONI_ASYNCHRONOUS"));
    let setup = setup.env("PX_DATABASE_TIMEOUT_SECS", "2").env("PX_DATABASE_STATEMENT_SECS", "4");
    let site = Site::with(setup).await;
    let txn = site.pause("/act").await;
    strike("hold-back").await;
    let approve = format!("/approvals/{txn}/approve");
    site.owner.client.post(&approve, &json!({})).send().await.expect(200);
    site.upstream.received(1).await;

    strike("kill").await;
    let listed = until("the promotion", async || {
        let ran = site.app.cli(&["audit", "in-flight", "--json"]).await;
        (ran.code == Some(0)).then(|| ran.json())
    })
    .await;
    let requests = listed["requests"].as_array().unwrap();
    let found = requests.iter().find(|request| request["txn_id"] == json!(txn));
    assert_eq!(found.map(|request| &request["state"]), Some(&json!("pending")), "{listed}");
    assert_eq!(found.map(|request| &request["decided_at"]), Some(&Value::Null), "{listed}");

    // Why a person compares each with its upstream first.
    site.owner.client.post(&approve, &json!({})).send().await.expect(200);
    assert_eq!(site.upstream.received(2).await.len(), 2);
}
