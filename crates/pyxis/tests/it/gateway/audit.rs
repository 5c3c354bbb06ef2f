//! One record for each request, no secret in it, every tampering detected
//! (`docs/reference/behavior/proxy.md#audit-trail`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::leaks::{found, search_files};
use crate::support::{SECRET, Setup, World};

/// A world in which a little of everything has happened.
async fn lively(setup: Setup) -> World {
    let world = World::with(setup).await;
    world.policy(&json!({"auto_approve_methods": ["GET"], "deny_methods": ["DELETE"]})).await;
    world.forward("GET", "/auto").send().await.forwarded(200);
    let txn = world.pause("/approved").await;
    world.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
    world.agent.outcome(&txn).await;
    let txn = world.pause("/denied").await;
    world.owner.deny(&txn, "no").await;
    world.forward("DELETE", "/x").send().await.problem(403, "denied_by_policy");
    world
}

async fn verdict(world: &World, code: i32) -> Value {
    world.app.cli(&["audit", "verify", "--json"]).await.expect(code).json()
}

engines! {
    async fn each_request_has_one_record(setup: Setup) {
        let world = lively(setup).await;
        // The grant lets this one pass.
        world.forward("POST", "/approved").send().await.forwarded(200);
        let forwards = world.forwards().await;
        let rows: Vec<_> = forwards
            .iter()
            .map(|record| {
                let target = record["detail"]["target"].as_str().unwrap_or_default();
                (record["method"].as_str().unwrap(), target.rsplit('/').next().unwrap())
            })
            .collect();
        assert_eq!(rows, [("GET", "auto"), ("POST", "approved"), ("POST", "denied"), ("DELETE", "x"), ("POST", "approved")]);
        assert_eq!(forwards[0]["upstream_status"], 200);
        assert!(forwards.iter().all(|record| record["credential"] == "api" && record["actor_name"] == "default-agent"));
        let all = world.app.audit().await;
        let kinds: Vec<&str> = all.iter().filter_map(|record| record["kind"].as_str()).collect();
        assert!(kinds.iter().any(|kind| kind.contains("policy")), "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind.contains("credential")), "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind.contains("grant")), "{kinds:?}");
        let approvals = all.iter().filter(|record| record["kind"] != "request.received" && !record["txn_id"].is_null());
        assert!(approvals.count() >= 2, "decisions are records too: {kinds:?}");
    }

    async fn a_filter_by_an_earlier_name_finds_what_the_present_name_finds(setup: Setup) {
        let world = lively(setup).await;
        let client = &world.owner.client;
        for (earlier, present, count) in [("forward", "request.received", 4), ("execute", "request.executed", 1)] {
            let find = async |name: &str| {
                let answer = client.get(&format!("/admin/audit?kind={name}")).send().await.expect(200).json();
                answer["records"].as_array().unwrap().clone()
            };
            let found = find(present).await;
            assert_eq!((found.len(), find(earlier).await == found), (count, true), "{present}");
            assert!(found.iter().all(|record| record["kind"] == present), "{found:?}");
            let tail = world.app.cli(&["audit", "tail", "--kind", earlier]).await.expect(0).stdout;
            let named = tail.lines().filter(|line| line.contains(present)).count();
            assert_eq!((tail.lines().count(), named), (count, count), "{tail}");
        }
        client.get("/admin/audit?kind=forwarded").send().await.problem(422, "invalid_field");
        world.app.cli(&["audit", "tail", "--kind", "forwarded"]).await.expect(2);
    }

    async fn a_time_that_the_program_wrote_is_a_filter_in_every_spelling(setup: Setup) {
        let world = lively(setup).await;
        let all = world.owner.client.get("/admin/audit?limit=1000").send().await.expect(200).json();
        let records = all["records"].as_array().unwrap();
        let at = records[records.len() / 2]["at"].as_str().unwrap();
        let from = async |text: &str| {
            let answer = world.owner.client.get(&format!("/admin/audit?limit=1000&from={text}")).send().await.expect(200);
            answer.json()["records"].as_array().unwrap().len()
        };
        let wanted = from(at).await;
        assert!((1..=records.len()).contains(&wanted));
        let numeric = at.replace('Z', "+00:00");
        for text in [numeric.replace('+', "%2B"), numeric, at.replace('Z', "000%2B00:00")] {
            assert_eq!(from(&text).await, wanted, "{text}");
        }
        for text in ["yesterday", &at[..19]] {
            world.owner.client.get(&format!("/admin/audit?from={text}")).send().await.problem(422, "invalid_field");
        }
    }

    async fn a_request_refused_for_its_reason_or_its_size_has_a_record(setup: Setup) {
        let world = World::with(setup.env("PX_PENDING_BODY_MAX_BYTES", "1000")).await;
        world.forward("POST", "/large").body("x".repeat(1001)).send().await.problem(413, "body_too_large");
        world.policy(&json!({"require_reason": true})).await;
        world.forward("POST", "/mute").send().await.problem(400, "missing_header");
        let seen = crate::support::until("both records", async || {
            let forwards = world.forwards().await;
            (forwards.len() == 2).then(|| {
                let told = |record: &Value| (record["decision"].clone(), record["detail"]["rule"].clone());
                forwards.iter().map(told).collect::<Vec<_>>()
            })
        });
        assert_eq!(seen.await, [(json!("refused"), json!("body_too_large")), (json!("refused"), json!("missing_header"))]);
    }

    async fn an_untouched_trail_is_in_order(setup: Setup) {
        let mut world = lively(setup).await;
        assert_eq!(verdict(&world, 0).await["ok"], true);
        world.app.restart().await;
        world.forward("GET", "/more").send().await.forwarded(200);
        assert_eq!(verdict(&world, 0).await["ok"], true);
        world.app.kill().await;
        assert_eq!(verdict(&world, 0).await["ok"], true);
    }

    async fn an_edited_record_is_named(setup: Setup) {
        let mut world = lively(setup).await;
        world.app.stop().await;
        let seq = world.app.sql("SELECT seq FROM audit_records WHERE kind = 'forward' ORDER BY seq LIMIT 1").remove(0);
        world.app.sql(&format!("UPDATE audit_records SET host = 'harmless.example.com' WHERE seq = {seq}"));
        let verdict = verdict(&world, 1).await;
        assert_eq!((&verdict["ok"], verdict["damaged_seq"].to_string()), (&json!(false), seq));
    }

    async fn a_removed_record_is_named(setup: Setup) {
        let mut world = lively(setup).await;
        world.app.stop().await;
        let seq = world.app.sql("SELECT seq FROM audit_records WHERE kind = 'forward' ORDER BY seq LIMIT 1").remove(0);
        world.app.sql(&format!("DELETE FROM audit_records WHERE seq = {seq}"));
        let verdict = verdict(&world, 1).await;
        assert_eq!((&verdict["ok"], verdict["damaged_seq"].to_string()), (&json!(false), seq));
    }

    async fn a_cut_tail_is_noticed(setup: Setup) {
        let mut world = lively(setup).await;
        world.app.stop().await;
        world.app.sql("DELETE FROM audit_records WHERE seq = (SELECT MAX(seq) FROM audit_records)");
        assert_eq!(verdict(&world, 1).await["ok"], false);
    }

    async fn that_no_head_is_kept_beside_the_database_is_told(setup: Setup) {
        let mut world = lively(setup).await;
        world.app.stop().await;
        assert_eq!(verdict(&world, 0).await["anchored"], true);
        std::fs::remove_file(world.app.data().join("audit-head.json")).unwrap();
        assert_eq!(verdict(&world, 0).await["anchored"], false);
        let told = world.app.cli(&["audit", "verify"]).await.expect(0).stdout;
        assert!(told.contains("audit-head.json is missing"), "{told}");
    }
}

/// Every row of every table, unless the database is a file that is searched as a whole.
fn tables(world: &World) -> String {
    if !world.app.is_postgres() {
        return String::new();
    }
    let names = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()";
    let rows = world.app.sql(names).into_iter();
    let rows = rows.flat_map(|name| world.app.sql(&format!("SELECT t::text FROM \"{name}\" t")));
    let text = rows.collect::<Vec<_>>().join("\n");
    assert!(text.contains("default-agent"), "{text}");
    text
}

engines! {
    async fn no_secret_is_in_files_tables_logs_or_exports(setup: Setup) {
        let mut world = lively(setup.env("PX_LOG", "trace")).await;
        let body = "BODY-canary/9&\"<w>+é of a request";
        let call = world.forward("POST", "/sealed?token=QUERY-canary").body(body);
        let call = call.header("x-api-token", "HEADER-canary-1");
        let txn = call.header("authorization", "Bearer AGENTS-OWN-canary").send().await.txn();
        let hook = json!({"url": "https://8.8.8.8/in", "events": ["score.changed"]});
        let hook = world.owner.client.post("/admin/webhooks", &hook).send().await.expect(201).json();
        let hook = hook["secret"].as_str().unwrap();
        let key = world.agent.key.clone();
        let session = world.app.bootstrap["owner_session_token"].as_str().unwrap().to_owned();
        let dump = world.app.cli(&["audit", "export"]).await.expect(0).stdout;
        let csv = world.app.cli(&["audit", "export", "--format", "csv"]).await.expect(0).stdout;
        let backup = world.app.directory().join("backup.db");
        world.app.cli(&["backup", backup.to_str().unwrap()]).await.expect(0);
        world.owner.approve(&txn).await;
        world.agent.outcome(&txn).await;
        world.app.stop().await;
        let tables = tables(&world);
        for secret in [SECRET, &key, &session, hook, body, "AGENTS-OWN-canary"] {
            // The master key, the log and the backup; on SQLite also the database.
            assert!(search_files(world.app.directory(), secret) >= 3 + usize::from(tables.is_empty()));
            for text in [&dump, &csv, &tables] {
                assert_eq!(found(secret, text.as_bytes()), Vec::<String>::new());
            }
        }
    }

    async fn a_secret_in_the_query_shows_nowhere(setup: Setup) {
        let mut world = World::bare(setup.env("PX_LOG", "trace")).await;
        let auth = json!({"kind": "query", "parameter": "key"});
        world.credential("api", &json!({"auth": auth, "secret": SECRET})).await;
        world.upstream.reply_with(|request| {
            let echo = request.target.clone();
            pyxis_testkit::upstream::Reply::new(302).header("location", &echo).body(echo)
        });
        let answer = world.forward("GET", "/x?a=1").send().await.forwarded(302);
        let told = format!("{:?}{}", answer.headers, answer.text());
        let txn = world.pause("/y").await;
        world.owner.approve(&txn).await;
        let outcome = world.agent.outcome(&txn).await.to_string();
        let dump = world.app.cli(&["audit", "export"]).await.expect(0).stdout;
        world.app.stop().await;
        for text in [told, outcome, dump, tables(&world)] {
            assert_eq!(found(SECRET, text.as_bytes()), Vec::<String>::new());
        }
        search_files(world.app.directory(), SECRET);
    }

    /// One JSON object on each line, and nothing in it that the other format omits.
    async fn the_log_for_programs_is_json_without_a_secret(setup: Setup) {
        let mut world = lively(setup.env("PX_LOG", "trace").env("PX_LOG_JSON", "true")).await;
        world.app.stop().await;
        let log = world.app.logs();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let said = |text: &str| lines.iter().any(|line| line["message"] == text);
        assert!(said("stopping; waiting for open requests"), "{log}");
        assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{log}");
        for secret in [SECRET, &world.agent.key, world.app.owner_token()] {
            assert_eq!(found(secret, log.as_bytes()), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn no_answer_of_the_admin_api_shows_a_secret() {
    let world = lively(Setup::new()).await;
    for path in [
        "/admin/credentials",
        "/admin/credentials/api",
        "/admin/agents",
        "/admin/policies/api",
        "/admin/grants",
        "/admin/audit",
        "/admin/members",
        "/admin/settings",
        "/approvals",
    ] {
        let answer = world.owner.client.get(path).send().await.expect(200);
        assert_eq!(found(SECRET, &answer.body), Vec::<String>::new(), "{path}");
        answer.hides(&world.agent.key);
        let stranger = world.app.anonymous().get(path).send().await;
        assert_eq!(stranger.status, 401, "{path}: {stranger:?}");
    }
}
