//! A program on a database that a newer release changed.

use pyxis_testkit::engines;

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
        let migrated = site.app.cli(&["migrate"]).await;
        assert!(migrated.stderr.contains("nothing to do"), "{migrated:?}");
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
