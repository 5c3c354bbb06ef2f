//! Audit push that a second node continues.

use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::{Reply, Upstream};

use super::otlp::messages;
use super::whole_trail_arrives;
use crate::support::{Setup, Site, until};

/// Number of the newest record that is known to be pushed.
fn cursor(site: &Site) -> Option<i64> {
    let stored = site.app.sql("SELECT value FROM meta WHERE key = 'audit_push_seq'");
    stored.first()?.split_once(' ')?.0.parse().ok()
}

fn newest(site: &Site) -> i64 {
    site.app.sql("SELECT CAST(max(seq) AS TEXT) FROM audit_records")[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_node_goes_on_with_the_push_of_one_that_was_killed_on_postgres() {
    let receiver = Upstream::http().await;
    receiver.reply_with(|_| Reply::ok(""));
    let setup = Setup::on(Database::migrated("push takeover").await);
    let mut site = Site::with(setup.env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url("")))).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
    until("the cursor", async || (cursor(&site) == Some(newest(&site))).then_some(())).await;
    let other = site.app.another_node();

    // The first node has the lease. It dies while the receiver has a batch that it has not acknowledged.
    let (before, acknowledged) = (receiver.requests().len(), cursor(&site).unwrap());
    let (reply, release) = Reply::ok("").hold();
    receiver.reply(reply);
    site.forward("GET", "/two").send().await.forwarded(200);
    let unacknowledged = messages(&receiver.received(before + 1).await[before..]);
    assert!(!unacknowledged.is_empty());
    site.app.kill().await;
    drop(release);

    let agent = other.agent(&site.agent.key);
    agent.forward("api", "GET", &site.upstream.url("/three")).send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
    let requests = receiver.requests();
    let by_other = messages(&requests[before + 1..]);
    for (seq, mac, _) in &unacknowledged {
        assert!(by_other.iter().any(|(again, same, _)| (again, same) == (seq, mac)), "{seq} was lost");
    }
    // It goes on where the first one was known to be, and not from the beginning.
    let first = by_other.iter().map(|(seq, ..)| *seq).min();
    assert!(first > Some(acknowledged), "{first:?} although {acknowledged} was acknowledged");
    until("the cursor", async || (cursor(&site) == Some(newest(&site))).then_some(())).await;
}
