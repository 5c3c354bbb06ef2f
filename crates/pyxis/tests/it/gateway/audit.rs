//! One record for each request, no secret in it, every tampering detected
//! (`docs/reference/behavior/proxy.md#audit-trail`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::leaks::{found, search_files};
use crate::support::{SECRET, Setup, Site};

/// A site in which a little of everything has happened.
async fn lively(setup: Setup) -> Site {
    let site = Site::with(setup).await;
    site.policy(&json!({"auto_approve_methods": ["GET"], "deny_methods": ["DELETE"]})).await;
    site.forward("GET", "/auto").send().await.forwarded(200);
    let txn = site.pause("/approved").await;
    site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
    site.agent.outcome(&txn).await;
    let txn = site.pause("/denied").await;
    site.owner.deny(&txn, "no").await;
    site.forward("DELETE", "/x").send().await.problem(403, "denied_by_policy");
    site
}

async fn verdict(site: &Site, code: i32) -> Value {
    site.app.cli(&["audit", "verify", "--json"]).await.expect(code).json()
}

engines! {
    async fn each_request_has_one_record(setup: Setup) {
        let site = lively(setup).await;
        // The grant lets this one pass.
        site.forward("POST", "/approved").send().await.forwarded(200);
        let forwards = site.forwards().await;
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
        let all = site.app.audit().await;
        let kinds: Vec<&str> = all.iter().filter_map(|record| record["kind"].as_str()).collect();
        assert!(kinds.iter().any(|kind| kind.contains("policy")), "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind.contains("credential")), "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind.contains("grant")), "{kinds:?}");
        let approvals = all.iter().filter(|record| record["kind"] != "request.received" && !record["txn_id"].is_null());
        assert!(approvals.count() >= 2, "decisions are records too: {kinds:?}");
    }

    async fn a_filter_by_an_earlier_name_finds_what_the_present_name_finds(setup: Setup) {
        let site = lively(setup).await;
        let client = &site.owner.client;
        for (earlier, present, count) in [("forward", "request.received", 4), ("execute", "request.executed", 1)] {
            let find = async |name: &str| {
                let answer = client.get(&format!("/admin/audit?kind={name}")).send().await.expect(200).json();
                answer["records"].as_array().unwrap().clone()
            };
            let found = find(present).await;
            assert_eq!((found.len(), find(earlier).await == found), (count, true), "{present}");
            assert!(found.iter().all(|record| record["kind"] == present), "{found:?}");
            let tail = site.app.cli(&["audit", "tail", "--kind", earlier]).await.expect(0).stdout;
            let named = tail.lines().filter(|line| line.contains(present)).count();
            assert_eq!((tail.lines().count(), named), (count, count), "{tail}");
        }
        client.get("/admin/audit?kind=forwarded").send().await.problem(422, "invalid_field");
        site.app.cli(&["audit", "tail", "--kind", "forwarded"]).await.expect(2);
    }

    async fn a_time_that_the_program_wrote_is_a_filter_in_every_spelling(setup: Setup) {
        let site = lively(setup).await;
        let all = site.owner.client.get("/admin/audit?limit=1000").send().await.expect(200).json();
        let records = all["records"].as_array().unwrap();
        let at = records[records.len() / 2]["at"].as_str().unwrap();
        let from = async |text: &str| {
            let answer = site.owner.client.get(&format!("/admin/audit?limit=1000&from={text}")).send().await.expect(200);
            answer.json()["records"].as_array().unwrap().len()
        };
        let wanted = from(at).await;
        assert!((1..=records.len()).contains(&wanted));
        let numeric = at.replace('Z', "+00:00");
        for text in [numeric.replace('+', "%2B"), numeric, at.replace('Z', "000%2B00:00")] {
            assert_eq!(from(&text).await, wanted, "{text}");
        }
        for text in ["yesterday", &at[..19]] {
            site.owner.client.get(&format!("/admin/audit?from={text}")).send().await.problem(422, "invalid_field");
        }
    }

    async fn a_request_refused_for_its_reason_or_its_size_has_a_record(setup: Setup) {
        let site = Site::with(setup.env("PX_PENDING_BODY_MAX_BYTES", "1000")).await;
        site.forward("POST", "/large").body("x".repeat(1001)).send().await.problem(413, "body_too_large");
        site.policy(&json!({"require_reason": true})).await;
        site.forward("POST", "/mute").send().await.problem(400, "missing_header");
        let seen = crate::support::until("both records", async || {
            let forwards = site.forwards().await;
            (forwards.len() == 2).then(|| {
                let told = |record: &Value| (record["decision"].clone(), record["detail"]["rule"].clone());
                forwards.iter().map(told).collect::<Vec<_>>()
            })
        });
        assert_eq!(seen.await, [(json!("refused"), json!("body_too_large")), (json!("refused"), json!("missing_header"))]);
    }

    async fn an_untouched_trail_is_in_order(setup: Setup) {
        let mut site = lively(setup).await;
        assert_eq!(verdict(&site, 0).await["ok"], true);
        site.app.restart().await;
        site.forward("GET", "/more").send().await.forwarded(200);
        assert_eq!(verdict(&site, 0).await["ok"], true);
        site.app.kill().await;
        assert_eq!(verdict(&site, 0).await["ok"], true);
    }

    async fn an_edited_record_is_named(setup: Setup) {
        let mut site = lively(setup).await;
        site.app.stop().await;
        let seq = site.app.sql("SELECT seq FROM audit_records WHERE kind = 'forward' ORDER BY seq LIMIT 1").remove(0);
        site.app.sql(&format!("UPDATE audit_records SET host = 'harmless.example.com' WHERE seq = {seq}"));
        let verdict = verdict(&site, 1).await;
        assert_eq!((&verdict["ok"], verdict["damaged_seq"].to_string()), (&json!(false), seq));
    }

    async fn a_removed_record_is_named(setup: Setup) {
        let mut site = lively(setup).await;
        site.app.stop().await;
        let seq = site.app.sql("SELECT seq FROM audit_records WHERE kind = 'forward' ORDER BY seq LIMIT 1").remove(0);
        site.app.sql(&format!("DELETE FROM audit_records WHERE seq = {seq}"));
        let verdict = verdict(&site, 1).await;
        assert_eq!((&verdict["ok"], verdict["damaged_seq"].to_string()), (&json!(false), seq));
    }

    async fn a_cut_tail_is_noticed(setup: Setup) {
        let mut site = lively(setup).await;
        site.app.stop().await;
        site.app.sql("DELETE FROM audit_records WHERE seq = (SELECT MAX(seq) FROM audit_records)");
        assert_eq!(verdict(&site, 1).await["ok"], false);
    }

    async fn that_no_head_is_kept_outside_the_database_is_told(setup: Setup) {
        let mut site = lively(setup).await;
        site.app.stop().await;
        assert_eq!(verdict(&site, 0).await["anchored"], true);
        std::fs::remove_file(site.app.data().join("audit-head.json")).unwrap();
        assert_eq!(verdict(&site, 0).await["anchored"], false);
        let told = site.app.cli(&["audit", "verify"]).await.expect(0).stdout;
        assert!(told.contains("audit-head.json is missing"), "{told}");
    }
}

/// Every row of every table, unless the database is a file that is searched as a whole.
fn tables(site: &Site) -> String {
    if !site.app.is_postgres() {
        return String::new();
    }
    let names = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()";
    let rows = site.app.sql(names).into_iter();
    let rows = rows.flat_map(|name| site.app.sql(&format!("SELECT t::text FROM \"{name}\" t")));
    let text = rows.collect::<Vec<_>>().join("\n");
    assert!(text.contains("default-agent"), "{text}");
    text
}

engines! {
    async fn no_secret_is_in_files_tables_logs_or_exports(setup: Setup) {
        let mut site = lively(setup.env("PX_LOG", "trace")).await;
        let body = "BODY-canary/9&\"<w>+é of a request";
        let call = site.forward("POST", "/sealed?token=QUERY-canary").body(body);
        let call = call.header("x-api-token", "HEADER-canary-1");
        let txn = call.header("authorization", "Bearer AGENTS-OWN-canary").send().await.txn();
        let hook = json!({"url": "https://8.8.8.8/in", "events": ["score.changed"]});
        let hook = site.owner.client.post("/admin/webhooks", &hook).send().await.expect(201).json();
        let hook = hook["secret"].as_str().unwrap();
        let key = site.agent.key.clone();
        let session = site.app.bootstrap["owner_session_token"].as_str().unwrap().to_owned();
        let dump = site.app.cli(&["audit", "export"]).await.expect(0).stdout;
        let csv = site.app.cli(&["audit", "export", "--format", "csv"]).await.expect(0).stdout;
        let backup = site.app.directory().join("backup.db");
        site.app.cli(&["backup", backup.to_str().unwrap()]).await.expect(0);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        site.app.stop().await;
        let tables = tables(&site);
        for secret in [SECRET, &key, &session, hook, body, "AGENTS-OWN-canary"] {
            // The master key, the log and the backup; on SQLite also the database.
            assert!(search_files(site.app.directory(), secret) >= 3 + usize::from(tables.is_empty()));
            for text in [&dump, &csv, &tables] {
                assert_eq!(found(secret, text.as_bytes()), Vec::<String>::new());
            }
        }
    }

    async fn a_secret_in_the_query_shows_nowhere(setup: Setup) {
        let mut site = Site::bare(setup.env("PX_LOG", "trace")).await;
        let auth = json!({"kind": "query", "parameter": "key"});
        site.credential("api", &json!({"auth": auth, "secret": SECRET})).await;
        site.upstream.reply_with(|request| {
            let echo = request.target.clone();
            pyxis_testkit::upstream::Reply::new(302).header("location", &echo).body(echo)
        });
        let answer = site.forward("GET", "/x?a=1").send().await.forwarded(302);
        let told = format!("{:?}{}", answer.headers, answer.text());
        let txn = site.pause("/y").await;
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await.to_string();
        let dump = site.app.cli(&["audit", "export"]).await.expect(0).stdout;
        site.app.stop().await;
        for text in [told, outcome, dump, tables(&site)] {
            assert_eq!(found(SECRET, text.as_bytes()), Vec::<String>::new());
        }
        search_files(site.app.directory(), SECRET);
    }

    /// One JSON object on each line, and nothing in it that the other format omits.
    async fn the_log_for_programs_is_json_without_a_secret(setup: Setup) {
        let mut site = lively(setup.env("PX_LOG", "trace").env("PX_LOG_JSON", "true")).await;
        site.app.stop().await;
        let log = site.app.logs();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let said = |text: &str| lines.iter().any(|line| line["message"] == text);
        assert!(said("stopping; waiting for open requests"), "{log}");
        assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{log}");
        for secret in [SECRET, &site.agent.key, site.app.owner_token()] {
            assert_eq!(found(secret, log.as_bytes()), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn no_answer_of_the_admin_api_shows_a_secret() {
    let site = lively(Setup::new()).await;
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
        let answer = site.owner.client.get(path).send().await.expect(200);
        assert_eq!(found(SECRET, &answer.body), Vec::<String>::new(), "{path}");
        answer.hides(&site.agent.key);
        let stranger = site.app.anonymous().get(path).send().await;
        assert_eq!(stranger.status, 401, "{path}: {stranger:?}");
    }
}
