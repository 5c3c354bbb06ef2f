//! Block clocks, and that a dead RPC node affects no other network.

use std::ops::Range;

use pyxis_core::proof::{Kind, Registration, Statement};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, now, registration};
use crate::support::app::{Ran, run};
use crate::support::{App, PATIENCE, Setup, until};

const NOWHERE: &str = "http://127.0.0.1:1";

/// The settings of networks that have these nodes.
fn nodes(all: &[(&str, &str)]) -> String {
    let network =
        |(name, url): &(&str, &str)| ((*name).to_owned(), json!({"rpc": [url], "rpc_timeout_ms": 60_000}));
    Value::Object(all.iter().map(network).collect()).to_string()
}

/// Runs a command with other networks than the installation's.
async fn with_networks(app: &App, networks: &str, arguments: &[&str]) -> Ran {
    let mut command = app.command(arguments);
    command.env("PX_NETWORKS", networks);
    run(command).await
}

/// The newest block, as a node reports it.
fn newest(number: u64) -> Reply {
    let block = json!({"number": format!("{number:#x}"), "timestamp": "0x69000000"});
    Reply::json(&json!({"jsonrpc": "2.0", "id": 0, "result": block}).to_string())
}

/// Newest block of a stand-in whose blocks come every second.
const BLOCKS: i64 = 130_000_000;
/// Seconds that its clock is ahead, so that a block before the newest is later than what just happened.
const AHEAD: i64 = 10;

/// Any block of that stand-in.
fn mined(request: &Received, now: i64) -> Reply {
    let asked: Value = serde_json::from_str(request.text()).unwrap();
    let number = asked["params"][0].as_str().unwrap().strip_prefix("0x");
    let number = number.map_or(BLOCKS, |digits| i64::from_str_radix(digits, 16).unwrap());
    let block = json!({"number": format!("{number:#x}"), "timestamp": format!("{:#x}", now + AHEAD - BLOCKS + number)});
    let block = if number > BLOCKS { Value::Null } else { block };
    Reply::json(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": block}).to_string())
}

fn strategy(height: i64, users: Range<u8>) -> String {
    let users: Vec<String> = users.map(|number| address(number).to_string()).collect();
    format!(
        "/snapshot-strategies/sybil-resistance/gov-id?network=10&snapshot={height}&addresses={}&action-id={ACTION}",
        users.join(",")
    )
}

/// The scores of users at a block.
async fn scores_at(site: &VerifySite, height: i64, users: Range<u8>) -> Vec<i64> {
    let answer = site.get_json(&strategy(height, users)).await;
    answer["score"].as_array().unwrap().iter().map(|entry| entry["score"].as_i64().unwrap()).collect()
}

fn registration_on(network: &str, number: u8, nullifier: u64) -> Registration {
    Registration { network: network.parse().unwrap(), ..registration(number, Kind::GovId, nullifier) }
}

async fn result(site: &VerifySite, network: &str, number: u8) -> Value {
    let path = format!("/sybil-resistance/gov-id/{network}?user={}&action-id={ACTION}", address(number));
    site.get_json(&path).await["result"].clone()
}

engines! {
    async fn nodes_take_over_only_once_one_of_them_answers(setup: Setup) {
        let mut site = VerifySite::with(setup).await;
        site.register(registration_on("optimism", 1, 7)).await;
        site.app.stop().await;
        let serve = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let refused = with_networks(&site.app, &nodes(&[("optimism", NOWHERE)]), &serve).await.expect(1);
        let told = "networks.optimism: Pyxis counted its blocks until now. To take over, its nodes must answer once";
        assert!(refused.stderr.contains(told) && refused.stderr.contains("take rpc out"), "{}", refused.stderr);
        assert!(refused.stdout.is_empty(), "it never listened: {}", refused.stdout);
        // Commands change nothing either.
        let block = ["proofs", "block", &address(1).to_string(), "--reason", "sold"];
        let refused = with_networks(&site.app, &nodes(&[("optimism", NOWHERE)]), &block).await;
        refused.expect(1);
        // A network may get nodes, and lose them again, as long as none of its blocks has been used.
        let unused = nodes(&[("base-sepolia", NOWHERE)]);
        site.app.serve();
        site.app.restart_with(|setup| setup.env("PX_NETWORKS", &unused)).await;
        assert_eq!(result(&site, "optimism", 1).await, true);
        site.app.restart_with(|setup| setup.without("PX_NETWORKS")).await;
        assert_eq!(result(&site, "optimism", 1).await, true);
        site.register(registration_on("base-sepolia", 1, 7)).await;
    }

    async fn a_network_that_counted_its_blocks_is_given_nodes_and_keeps_its_proofs_and_answers(setup: Setup) {
        let mut site = VerifySite::with(setup).await;
        let first = site.register(registration_on("optimism", 1, 7)).await["height"].as_i64().unwrap();
        let registered_at = now();
        assert_eq!(scores_at(&site, first, 1..3).await, [1, 0]);
        let before = site.head().await;
        let node = Upstream::http().await;
        node.reply_with(|request| mined(request, now()));
        let networks = nodes(&[("optimism", &node.url(""))]);
        site.app.restart_with(|setup| setup.env("PX_NETWORKS", &networks)).await;
        assert_eq!(result(&site, "optimism", 1).await, true, "the proof still counts");
        assert_eq!(scores_at(&site, first, 1..3).await, [1, 0], "what was answered before stays answered");
        let second = site.register(registration_on("optimism", 2, 8)).await["height"].as_i64().unwrap();
        assert!(second > BLOCKS - 1000 && before < second, "a block of the node: {second}");
        // A proof counts in the nodes' blocks from the time at which it was registered.
        let block_at = |time: i64| BLOCKS - AHEAD - (now() - time);
        assert_eq!(scores_at(&site, block_at(registered_at - 100), 1..3).await, [0, 0]);
        assert_eq!(scores_at(&site, second, 1..3).await, [1, 1]);
        assert_eq!(scores_at(&site, second - 1, 1..3).await, [1, 0]);
        site.get(&strategy(BLOCKS + 50, 1..3)).await.expect(400);
        // The way back would need another meaning of every height.
        site.app.stop().await;
        let refused = with_networks(&site.app, "{}", &["serve", "--listen", "127.0.0.1:0"]).await.expect(1);
        assert!(refused.stderr.contains("put rpc into its settings again"), "{}", refused.stderr);
        site.app.serve();
        assert_eq!(scores_at(&site, second, 1..3).await, [1, 1]);
        assert_eq!(scores_at(&site, first, 1..3).await, [1, 0]);
    }

    async fn nodes_below_the_local_count_do_not_take_over(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration_on("optimism", 1, 7)).await;
        let low = Upstream::http().await;
        low.reply_with(|_| newest(1));
        let networks = nodes(&[("optimism", &low.url(""))]);
        let arguments = ["proofs", "block", &address(1).to_string(), "--reason", "sold"];
        let refused = with_networks(&site.app, &networks, &arguments).await.expect(1);
        assert!(refused.stderr.contains("its nodes are at 1."), "{}", refused.stderr);
        assert_eq!(result(&site, "optimism", 1).await, true);
    }

    async fn a_node_that_hangs_holds_up_its_own_network_only(setup: Setup) {
        let hanging = Upstream::http().await;
        let (reply, release) = newest(9).hold();
        hanging.reply(reply);
        let site = VerifySite::with(setup.env("PX_NETWORKS", &nodes(&[("base-sepolia", &hanging.url(""))]))).await;
        site.register(registration_on("optimism", 1, 7)).await;
        let body = json!({
            "network": "optimism", "kind": "gov-id", "address": address(1).to_string(), "action_id": ACTION,
            "reason": "forged",
        });
        site.owner.post("/admin/proofs/revoke", &body).send().await.expect(200);
        let body = json!({"address": address(2).to_string(), "reason": "sold", "network": "optimism"});
        site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        let path = format!("/admin/blocklist/{}", address(2));
        site.owner.delete(&path).send().await.expect(204);
        assert!(hanging.requests().is_empty(), "it has nothing to do with any of that");
        release.send();
        let registered = site.register(registration_on("base-sepolia", 1, 8)).await;
        assert_eq!(registered["height"], 9);
    }

    async fn an_address_is_blocked_wherever_a_node_answers(setup: Setup) {
        let dead = Upstream::http().await;
        dead.reply(newest(9)).reply_with(|_| Reply::abort());
        let site = VerifySite::with(setup.env("PX_NETWORKS", &nodes(&[("base-sepolia", &dead.url(""))]))).await;
        site.register(registration_on("base-sepolia", 1, 7)).await;
        site.register(registration_on("optimism", 1, 7)).await;
        // The head is not asked for again within a second.
        let fails = async || {
            let answer = site.submit(Statement::Register(registration_on("base-sepolia", 5, 50))).await;
            (answer.status == 503).then_some(())
        };
        until("the node to be missed", fails).await;
        let body = json!({"address": address(1).to_string(), "reason": "sold"});
        let blocked = site.owner.post("/admin/blocklist", &body).send().await.expect(201).json();
        assert_eq!((&blocked["networks"], &blocked["unreachable"]), (&json!(4), &json!(["base-sepolia"])));
        assert_eq!(result(&site, "optimism", 1).await, false);
        assert_eq!(result(&site, "base-sepolia", 1).await, true);
        site.owner.post("/admin/blocklist", &body).send().await.problem(503, "unavailable");
        let one = address(1).to_string();
        site.app.cli(&["proofs", "block", &one, "--reason", "sold"]).await.expect(1);
        let other = address(9).to_string();
        let told = site.app.cli(&["proofs", "block", &other, "--reason", "sold"]).await.expect(1).stdout;
        assert!(told.contains("except on base-sepolia"), "{told}");
        let path = format!("/admin/blocklist/{one}");
        site.owner.delete(&path).send().await.expect(204);
        assert_eq!(result(&site, "optimism", 1).await, true);
    }

    async fn a_nullifier_passes_from_a_network_that_the_statement_does_not_name(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let short = Registration { expires_at: now() + 6, ..registration_on("base-sepolia", 1, 7) };
        site.register(short).await;
        let passed = async || {
            let answer = site.submit(Statement::Register(registration_on("optimism", 2, 7))).await;
            (answer.status == 201).then_some(())
        };
        until("the end of the first proof", passed).await;
        let path = format!(
            "/sybil-resistance/gov-id/base-sepolia?user={}&action-id={ACTION}&explain=true",
            address(1)
        );
        assert_eq!(site.get_json(&path).await["reason"], "expired");
        let log = site.owner.get("/admin/proofs/log").send().await.expect(200).json();
        let changes: Vec<_> = log["entries"].as_array().unwrap().iter().map(|entry| entry["change"].clone()).collect();
        assert_eq!(changes, ["register", "expire", "register"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_are_listed_with_all_their_nodes_asked_at_once() {
    let (one, two) = (Upstream::http().await, Upstream::http().await);
    let ((first, go), (second, go_too)) = (newest(5).hold(), newest(6).hold());
    one.reply(first);
    two.reply(second);
    let networks = nodes(&[("optimism", &one.url("")), ("base-sepolia", &two.url(""))]);
    let site = VerifySite::with(Setup::new().env("PX_NETWORKS", &networks)).await;
    let listing = site.owner.get("/admin/networks").send();
    let both = async {
        // Neither has answered when both are asked.
        one.received(1).await;
        two.received(1).await;
        go.send();
        go_too.send();
    };
    let listed = tokio::time::timeout(PATIENCE, async { tokio::join!(listing, both).0 }).await;
    let listed = listed.expect("both are asked before one has answered").expect(200).json();
    let heads: Vec<_> =
        listed["networks"].as_array().unwrap().iter().map(|one| one["head"].clone()).collect();
    assert_eq!(heads[..2], [json!(5), json!(6)]);
}
