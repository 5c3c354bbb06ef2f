//! A program on a database that a newer release changed.

use pyxis_testkit::engines;
use serde_json::json;

use super::{BREAKING, LATER};
use crate::support::{App, Setup, Site, until};

engines! {
    async fn a_program_goes_on_and_starts_again_on_what_a_newer_release_added(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/before").await;
        site.app.sql(LATER);
        site.forward("GET", "/x").send().await.forwarded(200);
        // A downgrade is a restart of the earlier program.
        site.app.restart().await;
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);
        let migrated = site.app.cli(&["migrate"]).await.expect(3);
        assert_eq!(migrated.stdout, "level 990: nothing to do\n", "{migrated:?}");
        let doctor = site.app.cli(&["doctor"]).await.expect(0).stdout;
        assert!(doctor.contains("level 990: a newer release added to it"), "{doctor}");
        assert!(doctor.contains(&format!("runs release {}, level", env!("CARGO_PKG_VERSION"))), "{doctor}");
        site.app.cli(&["audit", "verify"]).await.expect(0);
    }

    async fn a_program_that_a_newer_release_made_outdated_serves_nothing_and_does_not_start(setup: Setup) {
        let mut site = Site::with(setup).await;
        site.forward("GET", "/before").send().await.forwarded(200);
        site.app.sql(BREAKING);
        // The next heartbeat notices.
        until("the end of service", async || {
            let ready = site.app.anonymous().get("/readyz").send().await;
            (ready.status == 503).then_some(())
        })
        .await;
        let before = site.upstream.requests().len();
        site.forward("GET", "/after").send().await.problem(503, "unavailable");
        site.forward("POST", "/after").body("x").send().await.problem(503, "unavailable");
        assert_eq!(site.upstream.requests().len(), before);
        assert!(site.app.logs().contains("start Pyxis 0.2.0 or newer"), "{}", site.app.logs());
        site.app.stop().await;
        for command in [["serve", "--listen", "127.0.0.1:0"].as_slice(), &["migrate"], &["doctor"]] {
            refused(&site.app, command).await;
        }
    }
}

async fn refused(app: &App, command: &[&str]) {
    let ran = app.cli(command).await.expect(1);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for part in ["Pyxis 0.2.0 changed this database", "start Pyxis 0.2.0 or newer", "restore the backup"] {
        assert!(said.contains(part), "{part} is missing: {ran:?}");
    }
}

engines! {
    async fn rows_that_only_a_newer_release_can_read_harm_nothing_else(setup: Setup) {
        let mut site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "x"})).await;
        site.credential("third", &json!({"auth": {"kind": "bearer"}, "secret": "x"})).await;
        site.owner.set_policy("other", &json!({"auto_approve_methods": ["GET"]})).await;
        site.app.cli_json(&["user", "add", "--email", "later@example.com"]).await;
        let (readable, unreadable) = (site.pause("/a").await, site.pause("/b").await);
        site.app.stop().await;
        site.app.sql(&format!("UPDATE approvals SET kind = 'later' WHERE txn_id = '{unreadable}'"));
        site.app.sql("UPDATE users SET role = 'later' WHERE email = 'later@example.com'");
        site.app.serve();
        let inbox = site.owner.client.get("/approvals").send().await.expect(200).json();
        let listed: Vec<_> = inbox["approvals"].as_array().unwrap().iter().map(|one| &one["txn_id"]).collect();
        assert_eq!(listed, [&json!(readable)]);
        site.owner.approve(&readable).await;
        assert_eq!(site.agent.outcome(&readable).await["response"]["status"], 200);
        for path in ["/admin/credentials", "/admin/members", "/admin/grants", "/admin/audit", "/admin/agents"] {
            site.owner.client.get(path).send().await.expect(200);
        }
        // An unknown field of a policy, or an unknown kind of credential, refuses the requests that need it.
        site.app.stop().await;
        site.app.sql("UPDATE credentials SET auth = '{\"kind\":\"later\"}' WHERE name = 'third'");
        site.app.sql("UPDATE policies SET document = '{\"later\":true,\"auto_approve_methods\":[\"GET\"]}'");
        site.app.serve();
        let sent = site.upstream.requests().len();
        for credential in ["other", "third"] {
            let refused = site.agent.forward(credential, "GET", &site.upstream.url("/x")).send().await;
            assert_eq!(refused.status, 500, "{credential}: {refused:?}");
        }
        assert_eq!(site.upstream.requests().len(), sent);
        site.forward("GET", "/x").send().await.forwarded(200);
        assert!(!site.app.logs().contains("panicked"), "{}", site.app.logs());
    }
}
