//! `pyxis inbox`, `pyxis approve`, `pyxis deny` and `pyxis task`: a person decides from a terminal.

use std::io::Write;
use std::process::Stdio;

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::app::{Ran, run};
use crate::support::{Person, Setup, Site};

/// An access token of a person that may decide.
async fn token(person: &Person) -> String {
    let body = json!({"name": "terminal", "scopes": ["px:approve"]});
    let made = person.client.post("/admin/tokens", &body).send().await.expect(201).json();
    made["token"].as_str().unwrap().to_owned()
}

/// Runs a command of a person at a terminal elsewhere, without the installation.
async fn person(site: &Site, token: &str, arguments: &[&str]) -> Ran {
    let mut command = site.app.command(arguments);
    command
        .env("PX_URL", format!("http://{}", site.app.address()))
        .env("PX_TOKEN", token)
        .env("PX_DATA_DIR", site.app.directory().join("elsewhere"));
    run(command).await
}

engines! {
    async fn the_inbox_lists_what_waits_and_says_so_when_nothing_does(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let empty = person(&site, &token, &["inbox"]).await.expect(0);
        assert_eq!((&*empty.stderr, empty.stdout.lines().count()), ("no pending requests\n", 1), "{empty:?}");
        assert_eq!(person(&site, &token, &["inbox", "--json"]).await.expect(0).json(), json!([]));

        let txn = site.pause("/orders?secret=1").await;
        let listed = person(&site, &token, &["inbox"]).await.expect(0);
        let place = format!("{}/orders ", site.upstream.addr());
        for part in [txn.as_str(), "POST", &place, "default-agent", "api", "0 of 1"] {
            assert!(listed.stdout.contains(part), "{part}: {listed:?}");
        }
        assert!(!listed.stdout.contains("secret=1"), "{listed:?}");
        let listed = person(&site, &token, &["inbox", "--json"]).await.expect(0).json();
        assert_eq!((&listed[0]["txn_id"], &listed[0]["agent_name"]), (&json!(txn), &json!("default-agent")));
        assert!(listed[0]["secs_left"].as_u64().unwrap() > 3000 && listed[0]["age_secs"].is_u64(), "{listed}");
        assert!(!site.app.directory().join("elsewhere").exists(), "nothing local is read or made");
    }

    async fn an_approval_shows_what_is_sent_and_sends_it_only_with_consent(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let txn = site.pause("/orders").await;
        let asked = person(&site, &token, &["approve", &txn]).await.expect(1);
        assert!(asked.stderr.contains("a body to approve") && asked.stderr.contains("/orders"), "{asked:?}");
        assert!(asked.stderr.contains("add --yes"), "{asked:?}");
        assert_eq!(site.agent.poll(&txn).await["status"], "pending", "no terminal is no consent");

        let approve = ["approve", &txn, "--yes", "--reason", "looks right", "--json"];
        let done = person(&site, &token, &approve).await.expect(0).json();
        assert_eq!((&done["status"], &done["txn_id"]), (&json!("approved"), &json!(txn)));
        site.agent.outcome(&txn).await;
        let shown = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!(shown["votes"][0]["reason"], "looks right");

        let again = person(&site, &token, &["approve", &txn, "--yes"]).await.expect(1);
        assert!(again.stderr.contains("already approved by owner@localhost"), "{again:?}");
        let denied = person(&site, &token, &["deny", &txn]).await.expect(1);
        assert!(denied.stderr.contains("already approved"), "{denied:?}");
    }

    async fn a_denial_tells_the_agent_why_and_a_link_names_the_request_as_well(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let txn = site.pause("/orders").await;
        let link = format!("http://localhost:1/approve/{txn}");
        let done = person(&site, &token, &["deny", &link, "--reason", "use the staging shop"]).await.expect(0);
        assert_eq!(done.stdout, format!("denied {txn}\n"));
        let told = site.agent.poll(&txn).await;
        assert!(told.to_string().contains("use the staging shop"), "{told}");
        for unknown in ["00000000-0000-4000-8000-000000000000", "nonsense"] {
            let refused = person(&site, &token, &["deny", unknown]).await.expect(1);
            assert!(refused.stderr.contains("`pyxis inbox` shows"), "{refused:?}");
        }
    }

    async fn a_grant_opens_with_an_approval_for_as_long_as_was_said(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let txn = site.pause("/orders").await;
        let short = person(&site, &token, &["approve", &txn, "--yes", "--grant", "1m"]).await.expect(1);
        assert!(short.stderr.contains("grant_seconds"), "{short:?}");
        person(&site, &token, &["approve", &txn, "--yes", "--grant", "soon"]).await.expect(2);
        let done =
            person(&site, &token, &["approve", &txn, "--yes", "--grant", "30m", "--agent-only"]).await.expect(0);
        assert!(done.stderr.contains("of default-agent to") && done.stderr.contains("for 30m"), "{done:?}");
        assert!(done.stdout.contains("grant "), "{done:?}");
        site.agent.outcome(&txn).await;
        site.forward("POST", "/orders").send().await.forwarded(200);
    }

    async fn several_approvers_a_passkey_and_a_missing_right_are_explained(setup: Setup) {
        let site = Site::with(setup).await;
        let admin = site.app.admin("ada@people.example").await;
        let (own, hers) = (token(&site.owner).await, token(&admin).await);
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = site.pause("/orders").await;
        let first = person(&site, &own, &["approve", &txn, "--yes"]).await.expect(0);
        assert!(first.stdout.contains("1 of 2; the request stays pending"), "{first:?}");
        let twice = person(&site, &own, &["approve", &txn, "--yes"]).await.expect(1);
        assert!(twice.stderr.contains("you have already approved"), "{twice:?}");
        let second = person(&site, &hers, &["approve", &txn, "--yes"]).await.expect(0);
        assert!(second.stdout.starts_with(&format!("approved {txn}")), "{second:?}");

        site.policy(&json!({"passkey_required": true})).await;
        let txn = site.pause("/orders").await;
        let needs = person(&site, &own, &["approve", &txn, "--yes"]).await.expect(1);
        assert!(needs.stderr.contains("needs a passkey; open http"), "{needs:?}");
        assert!(needs.stderr.contains(&format!("/approve/{txn}")), "{needs:?}");

        site.policy(&json!({"allowed_approvers": ["ada@people.example"]})).await;
        let txn = site.pause("/invoices").await;
        let barred = person(&site, &own, &["approve", &txn, "--yes"]).await.expect(1);
        assert!(barred.stderr.contains("not eligible"), "{barred:?}");
    }

    async fn a_login_with_an_access_token_is_saved_next_to_that_of_an_agent(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let txn = site.pause("/orders").await;
        let url = format!("http://{}", site.app.address());
        let home = site.app.directory().join("home");
        let login = async |key: &str| {
            let mut command = site.app.command(&["login", "--url", &url]);
            command.env("HOME", &home).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let key = format!("{key}\n");
            let writing = move || {
                let mut child = command.spawn().unwrap();
                child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
                child.wait_with_output().unwrap()
            };
            tokio::task::spawn_blocking(writing).await.unwrap()
        };
        let wrong = login("px_pat_wrong").await;
        assert!(!wrong.status.success(), "{wrong:?}");
        for key in [site.agent.key.as_str(), &token] {
            let done = login(key).await;
            assert!(done.status.success(), "{done:?}");
        }
        let file = std::fs::read_to_string(home.join(".config/pyxis/login.json")).unwrap();
        let saved: Value = serde_json::from_str(&file).unwrap();
        assert_eq!((&saved["agent_key"], &saved["person"]["token"]), (&json!(site.agent.key), &json!(token)));
        let mut inbox = site.app.command(&["inbox"]);
        inbox.env("HOME", &home);
        assert!(run(inbox).await.expect(0).stdout.contains(&txn));
        let mut other = site.app.command(&["inbox", "--url", "http://localhost:1"]);
        other.env("HOME", &home);
        let other = run(other).await.expect(1);
        assert!(
            other.stderr.contains("the saved login is for"),
            "a token goes to its own server only: {other:?}"
        );
    }

    async fn without_a_token_or_with_a_wrong_one_the_way_to_one_is_told(setup: Setup) {
        let site = Site::with(setup).await;
        let none = site.app.cli(&["inbox"]).await.expect(1);
        assert!(none.stderr.contains("not signed in") && none.stderr.contains("pyxis login"), "{none:?}");
        let wrong = person(&site, "px_pat_wrong", &["inbox"]).await.expect(1);
        assert!(wrong.stderr.contains("does not accept the access token"), "{wrong:?}");
        let body = json!({"name": "admin", "scopes": ["px:admin"]});
        let admin = site.owner.client.post("/admin/tokens", &body).send().await.expect(201).json();
        let scope = person(&site, admin["token"].as_str().unwrap(), &["inbox"]).await.expect(1);
        assert!(scope.stderr.contains("lacks the scope px:approve"), "{scope:?}");
        let mut away = site.app.command(&["inbox", "--url", "http://127.0.0.1:1"]);
        away.env("PX_TOKEN", "px_pat_x");
        let away = run(away).await.expect(1);
        assert!(away.stderr.contains("cannot reach Pyxis at http://127.0.0.1:1"), "{away:?}");
    }
}

/// Proposes a task with two actions; returns its id.
async fn propose(site: &Site) -> String {
    let action = |path: &str| {
        json!({
            "credential": "api", "method": "POST", "url": site.upstream.url(path),
            "content": ["json /amount <= 5"], "max_uses": 10,
        })
    };
    let body =
        json!({"purpose": "Pay the bills", "actions": [action("/pay"), action("/notes")], "minutes": 60});
    let task = site.agent.client.post("/agent/tasks", &body).send().await.expect(202).json();
    task["task_id"].as_str().unwrap().to_owned()
}

engines! {
    async fn a_proposed_task_is_listed_shown_approved_in_part_and_stopped(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let task = propose(&site).await;
        let listed = person(&site, &token, &["inbox"]).await.expect(0);
        for part in [&*task, "Pay the bills", "default-agent"] {
            assert!(listed.stdout.contains(part), "{part}: {listed:?}");
        }
        let listed = person(&site, &token, &["inbox", "--json"]).await.expect(0).json();
        assert_eq!((&listed[0]["task_id"], &listed[0]["state"]), (&json!(task), &json!("proposed")));
        assert!(listed[0]["secs_left"].is_u64(), "{listed}");
        let tasks = person(&site, &token, &["task", "list"]).await.expect(0);
        assert!(tasks.stdout.contains(&*task) && tasks.stdout.contains("proposed"), "{tasks:?}");
        let none = person(&site, &token, &["task", "list", "--state", "stopped"]).await.expect(0);
        assert!(none.stderr.contains("no tasks") && !none.stdout.contains(&*task), "{none:?}");

        let shown = person(&site, &token, &["task", "show", &task]).await.expect(0);
        assert!(shown.stdout.contains("only with json /amount <= 5"), "{shown:?}");
        let asked = person(&site, &token, &["task", "approve", &task]).await.expect(1);
        assert!(asked.stderr.contains("Pay the bills") && asked.stderr.contains("add --yes"), "{asked:?}");
        let more = ["task", "approve", &task, "--yes", "--keep", "1=11"];
        let refused = person(&site, &token, &more).await.expect(1);
        assert!(refused.stderr.contains("actions: action 1 can have 1 to 10 uses"), "{refused:?}");
        person(&site, &token, &["task", "approve", &task, "--keep", "one"]).await.expect(2);

        let link = format!("http://localhost:1/app/tasks/{task}");
        let part = ["task", "approve", &link, "--yes", "--keep", "1=2", "--minutes", "15", "--json"];
        let done = person(&site, &token, &part).await.expect(0).json();
        assert_eq!((&done["state"], &done["actions"][0]["max_uses"]), (&json!("approved"), &json!(2)));
        assert_eq!(done["actions"][1]["max_uses"], 0, "{done}");
        let again = person(&site, &token, &["task", "approve", &task, "--yes"]).await.expect(1);
        assert!(again.stderr.contains("is approved; only a proposed one can be approved"), "{again:?}");

        let stopped = person(&site, &token, &["task", "stop", &task]).await.expect(0);
        assert_eq!(stopped.stdout, format!("stopped {task}\n"));
        let tasks =
            person(&site, &token, &["tasks", "list", "--state", "stopped", "--json"]).await.expect(0).json();
        assert_eq!((&tasks[0]["task_id"], &tasks[0]["state"]), (&json!(task), &json!("stopped")));
        let shown = person(&site, &token, &["task", "show", &task, "--json"]).await.expect(0).json();
        assert_eq!(shown["state"], "stopped");
        person(&site, &token, &["task", "stop", &task]).await.expect(1);
    }

    async fn a_denied_task_tells_the_agent_why_and_an_unknown_one_is_explained(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let task = propose(&site).await;
        let denied = person(&site, &token, &["task", "deny", &task, "--reason", "one by one"]).await.expect(0);
        assert_eq!(denied.stdout, format!("denied {task}\n"));
        let told = site.agent.client.get(&format!("/agent/tasks/{task}")).send().await.expect(200).json();
        assert_eq!((&told["state"], &told["reason"]), (&json!("denied"), &json!("one by one")));
        for unknown in ["00000000-0000-7000-8000-000000000000", "nonsense"] {
            let refused = person(&site, &token, &["task", "show", unknown]).await.expect(1);
            assert!(refused.stderr.contains("`pyxis inbox` shows"), "{refused:?}");
        }
    }

    async fn a_task_that_needs_a_passkey_is_approved_on_its_page(setup: Setup) {
        let site = Site::with(setup).await;
        let token = token(&site.owner).await;
        let task = propose(&site).await;
        site.policy(&json!({"passkey_required": true})).await;
        let page = format!("/app/tasks/{task}");
        let refused = person(&site, &token, &["task", "approve", &task, "--yes"]).await.expect(1);
        assert!(
            refused.stderr.contains("needs a passkey; open http") && refused.stderr.contains(&page),
            "{refused:?}"
        );
        person(&site, &token, &["task", "deny", &task]).await.expect(0);
    }
}
