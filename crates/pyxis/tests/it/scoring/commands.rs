//! The commands of scoring.

use pyxis_testkit::engines;
use serde_json::json;

use super::installation::{ScoringSite, address};
use crate::support::Setup;
use crate::support::app::run;

engines! {
    async fn a_scorer_is_added_weighed_and_rescored_from_the_command_line(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        site.stamp(1, "Discord", "account").await;
        site.score(1).await;
        let app = &site.app;
        let file = app.directory().join("weights.json");
        std::fs::write(&file, r#"{"Discord": 2, "Google": "0.5"}"#).unwrap();
        let file = file.to_str().unwrap();
        let added = app.cli_json(&["scorer", "add", "mine", "--threshold", "1.5", "--weights", file]).await;
        assert_eq!((&added["threshold"], &added["weights"]["Discord"]), (&json!("1.50000"), &json!("2.00000")));
        let listed = app.cli_json(&["scorer", "list"]).await;
        assert_eq!(listed.as_array().unwrap().len(), 2);

        let first = site.scorer();
        app.cli(&["scorer", "rescore", &first]).await.expect(3);
        let set = ["scorer", "set-weights", &first, "Discord=4", "A#1=0.25", "--threshold", "4"];
        let changed = app.cli_json(&set).await;
        assert_eq!((&changed["revision"], &changed["weights"]["A#1"]), (&json!(2), &json!("0.25000")));
        assert_eq!(changed["weights"]["Google"], "0.52500");
        app.cli(&set).await.expect(3);
        let unknown = app.cli(&["scorer", "set-weights", &first, "Discrd=1"]).await.expect(0);
        let said = "warning: the catalogue has no Stamp Discrd (did you mean Discord?); \
                    that is fine for a Stamp that you sign yourself\n";
        assert_eq!(unknown.stderr, said);
        let done = app.cli(&["scorer", "rescore", &first, "--json"]).await.expect(0);
        assert_eq!(done.json(), json!({"scorer_id": app.bootstrap["scorer_id"], "stored": 1, "rescored": 1}));
        assert_eq!(done.stderr, "", "a bar is for terminals only");
        assert_eq!(site.score(1).await["passing_score"], true);
        let replaced = app.cli_json(&["scorer", "set-weights", &first, "--file", file, "Google=1"]).await;
        assert_eq!(replaced["weights"], json!({"Discord": "2.00000", "Google": "1.00000"}));
        assert_eq!(app.cli_json(&["scorer", "show", &first]).await, replaced);

        for bad in [
            &["scorer", "show", "99"][..],
            &["scorer", "set-weights", &first, "Discord=2", "--from", "2099-01-01T00:00:00Z"],
            &["scorer", "set-weights", &first, "--file", "nowhere.json"],
            &["scorer", "add", ""],
        ] {
            app.cli(bad).await.expect(1);
        }
        for bad in [
            &["scorer", "set-weights", &first, "Discord"][..],
            &["scorer", "set-weights", &first, "Discord=-1"],
            &["scorer", "set-weights", &first, "=1"],
            &["scorer", "show", "x"],
        ] {
            app.cli(bad).await.expect(2);
        }
    }

    async fn computing_the_scores_of_votes_counts_addresses_that_had_none(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for number in [1, 2] {
            site.stamp(number, "Discord", &format!("account-{number}")).await;
        }
        site.score(1).await;
        let first = site.scorer();
        let mut command = site.app.command(&["scorer", "rescore", &first]);
        command.env("PX_VOTE_SCORERS", &first);
        let done = run(command).await.expect(0);
        assert_eq!(done.stdout, "computed 1 score; 1 address had none before\n");
        let done = site.app.cli(&["scorer", "rescore", &first]).await.expect(3);
        assert_eq!(done.stdout, "recomputed 0 of 2 stored scores\n");
    }

    async fn api_keys_are_managed_from_the_command_line(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let made = app.cli_json(&["api-key", "add", "web", "--tier", "2", "--write"]).await;
        let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
        let client = app.anonymous().with("x-api-key", key);
        let path = format!("/v2/stamps/{}", address(1));
        assert_eq!(client.get(&path).send().await.expect(200).header("ratelimit-limit"), Some("350"));
        let tier = app.cli_json(&["api-key", "set-tier", id, "4", "--limit", "9000"]).await;
        assert_eq!((&tier["stamps_limit"], &tier["models_tier"]), (&json!(9000), &json!(1)));
        app.cli(&["api-key", "set-tier", id, "4", "--limit", "9000"]).await.expect(3);
        let models = app.cli_json(&["api-key", "set-tier", id, "3", "--models"]).await;
        assert_eq!((&models["stamps_tier"], &models["models_tier"]), (&json!(4), &json!(3)));
        app.cli(&["api-key", "set-tier", id, "4"]).await.expect(1);
        app.cli(&["api-key", "set-tier", id, "7"]).await.expect(1);
        let history = app.cli_json(&["api-key", "allow-history", id]).await;
        assert_eq!(history["may"], json!(["read", "write", "history"]));
        app.cli(&["api-key", "allow-history", id]).await.expect(3);
        let listed = app.cli(&["api-key", "list"]).await.expect(0).stdout;
        assert!(listed.contains(id) && !listed.contains(key), "{listed}");
        assert_eq!(app.cli_json(&["api-key", "revoke", id]).await["revoked"], true);
        app.cli(&["api-key", "revoke", id]).await.expect(3);
        client.get(&path).send().await.expect(401);
        app.cli(&["api-key", "revoke", "key_ffffffffffffffff"]).await.expect(1);
        app.cli(&["api-key", "revoke", "nonsense"]).await.expect(2);
    }

    async fn stamps_are_shown_and_revoked_from_the_command_line(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for provider in ["Discord", "Google"] {
            site.stamp(1, provider, provider).await;
        }
        let (app, holder) = (&site.app, address(1).to_string());
        let shown = app.cli_json(&["stamps", "show", &holder]).await;
        assert_eq!(shown["score"], "1.04100");
        let digest = shown["stamps"][0]["digest"].as_str().unwrap();
        let text = app.cli(&["stamps", "show", &holder]).await.expect(0).stdout;
        assert!(text.contains("does not pass") && text.contains(digest) && text.contains("counts"), "{text}");
        let revoked = app.cli_json(&["stamps", "revoke", "--digest", digest, "--reason", "sold"]).await;
        assert_eq!((&revoked["revoked"], &revoked["removed"]), (&json!(true), &json!(true)));
        app.cli(&["stamps", "revoke", "--digest", digest]).await.expect(3);
        app.cli(&["stamps", "revoke", "--address", &holder, "--provider", "Google"]).await.expect(0);
        assert_eq!(site.score(1).await["stamps"], json!({}));
        app.cli(&["stamps", "revoke", "--address", &holder, "--provider", "Google"]).await.expect(1);
        for bad in [&["stamps", "revoke"][..], &["stamps", "revoke", "--address", &holder],
            &["stamps", "show", "vitalik.eth"]] {
            app.cli(bad).await.expect(2);
        }
        let trail = site.audited("stamp.revoked").await;
        assert_eq!(trail.len(), 2);
    }

    async fn issuers_are_listed_from_the_command_line(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let (app, did) = (&site.app, "did:ethr:0xABCDEF0101010101010101010101010101010101");
        let added = app.cli_json(&["issuer", "add", did, "--name", "Theirs"]).await;
        assert_eq!(added["did"], did.to_lowercase());
        app.cli(&["issuer", "add", did, "--name", "Theirs"]).await.expect(3);
        app.cli(&["issuer", "add", did, "--name", "Others"]).await.expect(0);
        let listed = app.cli_json(&["issuer", "list"]).await;
        assert_eq!(listed.as_array().unwrap().len(), 2);
        app.cli(&["issuer", "remove", did, "--yes"]).await.expect(0);
        app.cli(&["issuer", "remove", did, "--yes"]).await.expect(1);
        app.cli(&["issuer", "add", "did:web:example.org", "--name", "x"]).await.expect(1);
    }
}
