//! Own Stamps as managers and commands see them: signing, allow lists, on-chain Stamps.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::{Setup, metrics, until};

/// The file that `docs/reference/own-stamps.md` shows.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/credentials.jsonl");

async fn issue(site: &ScoringSite, number: u8) -> Value {
    let body = json!({ "stamps": [{ "provider": "EarlyMember" }] });
    let path = format!("/v2/stamps/{}/issue", address(number));
    site.api.post(&path, &body).send().await.expect(200).json()["items"][0]["status"].clone()
}

engines! {
    async fn stamps_are_signed_by_command_and_by_api_and_then_imported_or_added(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (members, signed) = (path("members.csv"), path("credentials.jsonl"));
        std::fs::write(&members, format!("address,nullifier\n{},member:1\n{}\n", address(1), address(2))).unwrap();
        let sign = ["stamps", "sign", "--file", &members, "--provider", "Member", "--out", &signed];
        site.app.cli(&sign).await.expect(0);
        // An existing file is not overwritten, and nothing is printed instead.
        assert_eq!(site.app.cli(&sign).await.expect(1).stdout, "");
        assert_eq!(std::fs::read_to_string(&signed).unwrap().lines().count(), 2);
        site.app.cli(&["stamps", "import", &signed]).await.expect(0);
        site.app.cli(&["scorer", "set-weights", &site.scorer(), "Member=30"]).await.expect(0);
        assert_eq!((&site.score(1).await["score"], &site.score(2).await["score"]), (&json!("30.00000"), &json!("30.00000")));
        let body = json!({ "provider": "Member", "holders": [{ "address": address(3), "nullifiers": ["member:1"] }] });
        let answer = site.post("/admin/stamps/sign", &body).await.expect(200).json();
        let added = site.api.post(&format!("/v2/stamps/{}", address(3)), &answer["credentials"]).send().await;
        assert_eq!(added.expect(200).json()["items"][0]["status"], "accepted");
        assert_eq!(site.score(3).await["stamps"]["Member"]["dedup"], true);
        let keys = site.app.cli_json(&["stamp-key", "list"]).await;
        assert_eq!((&keys[0]["did"], &keys[0]["trusted"]), (&answer["issuer"], &json!(true)));
        let rotated = site.post("/admin/stamp-keys/rotate", &json!({})).await.expect(200).json();
        assert_eq!((&rotated["number"], &rotated["signs"]), (&json!(2), &json!(true)));
        assert_eq!(site.get("/admin/stamp-keys").await["stamp_keys"].as_array().unwrap().len(), 2);
        let twice = json!({ "provider": "Member", "holders": [{ "address": address(3) }, { "address": address(3) }] });
        for body in [twice, json!({ "provider": "a b", "holders": [] }), json!({ "provider": "Member", "holders": [{ "address": "0x1" }] })] {
            site.post("/admin/stamps/sign", &body).await.expect(422);
        }
        let kinds: Vec<_> = site.audited("stamp").await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "stamp.signed").count(), 2, "{kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| *kind == "stamp_key.rotated").count(), 2, "{kinds:?}");
        for path in ["/admin/stamps/sign", "/admin/stamp-keys/rotate"] {
            site.app.anonymous().post(path, &json!({})).send().await.expect(401);
        }
    }

    async fn the_sample_of_credentials_is_imported_once_its_issuer_is_trusted(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let line: Value = serde_json::from_str(&std::fs::read_to_string(SAMPLE).unwrap()).unwrap();
        let subject = &line["credentialSubject"];
        let holder = subject["id"].as_str().unwrap().rsplit(':').next().unwrap();
        let issuer = line["issuer"].as_str().unwrap();
        let guide = include_str!("../../../../../docs/reference/own-stamps.md");
        assert!(guide.contains(&format!("pyxis issuer add {issuer} --name sample")), "{issuer}");
        let folder = tempfile::tempdir().unwrap();
        // An import locks its file, and others use the sample at the same time.
        let file = folder.path().join("credentials.jsonl");
        std::fs::copy(SAMPLE, &file).unwrap();
        let import = ["stamps", "import", file.to_str().unwrap(), "--restart"];
        let refused = site.app.cli(&import).await.expect(1).stdout;
        assert!(refused.contains("0 stored") && refused.contains("1 rejected"), "{refused}");
        site.app.cli(&["issuer", "add", issuer, "--name", "sample"]).await.expect(0);
        let stored = site.app.cli(&import).await.expect(0).stdout;
        assert!(stored.contains("1 stored") && stored.contains("0 rejected"), "{stored}");
        site.app.cli(&["scorer", "set-weights", &site.scorer(), "Member=25"]).await.expect(0);
        let path = format!("/v2/stamps/{}/score/{holder}", site.scorer());
        let score = site.api.get(&path).send().await.expect(200).json();
        assert_eq!((&score["score"], &score["passing_score"]), (&json!("25.00000"), &json!(true)));
        assert_eq!((&subject["provider"], &line["expirationDate"]), (&json!("Member"), &json!("2099-12-31T00:00:00.000Z")));
    }

    async fn allow_lists_are_managed_by_command_and_by_api(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let scorer = site.scorer();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("members.txt");
        std::fs::write(&file, format!("{}\n{}\n", address(1), address(2))).unwrap();
        let file = file.to_str().unwrap();
        let create = ["allow-list", "create", "EarlyMember", "--scorer", &scorer, "--weight", "25"];
        assert_eq!(site.app.cli_json(&create).await["addresses"], 0);
        site.app.cli(&create).await.expect(1);
        assert_eq!(site.app.cli_json(&["allow-list", "add", "EarlyMember", "--file", file]).await["changed"], 2);
        site.app.cli(&["allow-list", "add", "EarlyMember", "--file", file]).await.expect(3);
        let marked = site.app.directory().join("marked.csv");
        std::fs::write(&marked, format!("{},member:1\n", address(4))).unwrap();
        let add = ["allow-list", "add", "EarlyMember", "--file", marked.to_str().unwrap()];
        let refused = site.app.cli(&add).await.expect(1);
        assert!(refused.stderr.contains("add --nullifiers"), "{refused:?}");
        let refused = site.app.cli(&["allow-list", "create", "Discord"]).await.expect(1);
        assert!(refused.stderr.contains("the name of a published Stamp"), "{refused:?}");
        assert_eq!((issue(&site, 1).await, issue(&site, 3).await), (json!("accepted"), json!("rejected")));
        assert_eq!(site.score(1).await["passing_score"], true);
        let lists = site.get("/admin/allow-lists").await;
        assert_eq!((&lists["allow_lists"][0]["addresses"], &lists["allow_lists"][0]["issued"]), (&json!(2), &json!(1)));
        let of_list = "/admin/allow-lists/EarlyMember/addresses";
        let page = site.get(&format!("{of_list}?limit=1")).await;
        assert_eq!((&page["addresses"][0]["address"], &page["next_after"]), (&json!(address(1)), &json!(address(1))));
        let page = site.get(&format!("{of_list}?after={}", address(1))).await;
        assert_eq!((&page["addresses"][0]["address"], &page["next_after"]), (&json!(address(2)), &Value::Null));
        let body = json!({ "addresses": [address(1)] });
        let removed = site.post(&format!("{of_list}/remove"), &body).await.expect(200).json();
        assert_eq!(removed, json!({ "changed": 1, "withdrawn": 1 }));
        assert_eq!(site.score(1).await["score"], "0.00000");
        assert_eq!(site.post(of_list, &body).await.expect(200).json()["changed"], 1);
        for body in [json!({ "addresses": [] }), json!({ "addresses": ["0x1"] }), json!({})] {
            site.post(of_list, &body).await.expect(422);
        }
        let shown = site.app.cli(&["allow-list", "show", "EarlyMember", "--addresses"]).await.expect(0).stdout;
        assert_eq!(shown, format!("{}\n{}\n", address(1), address(2)));
        let stranger = site.stranger().await;
        stranger.client.get("/admin/allow-lists/EarlyMember").send().await.expect(404);
        let second = json!({ "name": "Second#1", "description": "Later", "scorer_id": 1 });
        site.post("/admin/allow-lists", &second).await.expect(422);
        let second = json!({ "name": "Second#1", "description": "Later", "valid_days": 10 });
        site.post("/admin/allow-lists", &second).await.expect(201);
        assert_eq!(site.get("/admin/allow-lists/Second%231").await["valid_days"], 10);
        site.owner.delete("/admin/allow-lists/Second%231").send().await.expect(200);
        site.app.cli(&["allow-list", "delete", "EarlyMember", "--yes"]).await.expect(0);
        site.app.cli(&["allow-list", "show", "EarlyMember"]).await.expect(1);
        assert_eq!(site.audited("own_stamp.").await.len(), 4);
        assert_eq!(site.audited("allow_list.").await.len(), 3);
    }

    async fn a_server_checks_issued_stamps_again_and_takes_back_their_points(setup: Setup) {
        let mut site = ScoringSite::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
        let scorer = site.scorer();
        let create = ["allow-list", "create", "EarlyMember", "--scorer", &scorer, "--weight", "25"];
        site.app.cli_json(&create).await;
        let body = json!({ "addresses": [address(1), address(2)] });
        site.post("/admin/allow-lists/EarlyMember/addresses", &body).await.expect(200);
        for number in [1, 2] {
            assert_eq!(issue(&site, number).await, "accepted");
            assert_eq!(site.score(number).await["score"], "25.00000");
        }
        // The list changes without anyone withdrawing what rested on it, and half an hour passes.
        site.app.sql("DELETE FROM listed_addresses WHERE address = (SELECT address FROM listed_addresses ORDER BY address LIMIT 1)");
        site.app.sql("UPDATE issued_stamps SET check_at = 1");
        site.app.restart().await;
        until("the first round of checks", async || {
            let page = metrics::page(&site.app).await;
            let checks = |outcome| metrics::value(&page, &format!("pyxis_stamp_checks_total{{outcome=\"{outcome}\"}}"));
            (checks("withdrawn") == Some(1.0) && checks("held") == Some(1.0)).then_some(())
        })
        .await;
        let api = site.app.anonymous().with("x-api-key", site.app.bootstrap["api_key"].as_str().unwrap());
        let score = async |number| {
            let path = format!("/v2/stamps/{scorer}/score/{}", address(number));
            api.get(&path).send().await.expect(200).json()["score"].clone()
        };
        assert_eq!((score(1).await, score(2).await), (json!("0.00000"), json!("25.00000")));
    }

    async fn an_on_chain_stamp_needs_a_network_with_nodes_and_a_kind_that_exists(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let token = "contract=0x1111111111111111111111111111111111111111";
        let add = ["onchain-stamp", "add", "Holder", "erc20", token, "--network", "base"];
        let refused = site.app.cli(&add).await.expect(1).stderr;
        assert!(refused.contains("networks with nodes: none"), "{refused}");
        let add = ["onchain-stamp", "add", "Holder", "erc2", token, "--network", "base"];
        let refused = site.app.cli(&add).await.expect(1).stderr;
        assert!(refused.contains("did you mean erc20?"), "{refused}");
        let kinds = site.app.cli_json(&["onchain-stamp", "kinds"]).await;
        let names: Vec<_> = kinds.as_array().unwrap().iter().map(|kind| kind["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["erc20", "erc721", "erc1155", "call", "eas"]);
        let body = json!({
            "name": "Holder", "description": "Holds it", "kind": "erc20", "network": "base",
            "settings": { "contract": "0x1111111111111111111111111111111111111111" },
        });
        site.post("/admin/onchain-stamps", &body).await.expect(422);
        assert_eq!(site.get("/admin/onchain-stamps").await, json!({ "onchain_stamps": [] }));
        site.owner.get("/admin/onchain-stamps/Holder").send().await.expect(404);
        site.owner.delete("/admin/onchain-stamps/Holder").send().await.expect(404);
    }
}
