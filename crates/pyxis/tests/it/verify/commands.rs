//! `pyxis proofs`, `pyxis network` and `pyxis check`.

use pyxis_core::address::EvmAddress;
use pyxis_core::proof::{Kind, Registration, Statement};
use pyxis_testkit::engines;
use pyxis_verify::registry::{IssuerKey, to_json};
use serde_json::json;

use super::installation::{ACTION, address, key, now, registration};
use crate::support::{App, Setup, until};

engines! {
    async fn an_issuer_signs_imports_and_rebinds_on_the_command_line(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let made = app.cli_json(&["proofs", "keygen", "issuer.key"]).await;
        let issuer = made["issuer"].as_str().unwrap();
        app.cli(&["proofs", "keygen", "issuer.key"]).await.expect(1);
        app.cli(&["proofs", "issuer", "add", issuer, "--kinds", "all", "--name", "Ours"]).await.expect(0);
        app.cli(&["proofs", "issuer", "add", issuer, "--kinds", "all", "--name", "Ours"]).await.expect(3);
        assert_eq!(app.cli_json(&["proofs", "issuer", "list"]).await.as_array().map(Vec::len), Some(6));
        let (one, two) = (address(1).to_string(), address(2).to_string());
        let what = ["--kind", "gov-id", "--action-id", ACTION, "--nullifier", "0x07"];
        let sign = [&["proofs", "sign", &one, "--network", "optimism", "--key", "file:issuer.key"], &what[..]];
        let signed = app.cli(&sign.concat()).await.expect(0).stdout;
        let other = to_json(&key(9).sign(Statement::Register(registration(5, Kind::GovId, 5))));
        std::fs::write(app.directory().join("proofs.jsonl"), format!("{signed}\n{other}\nnonsense\n")).unwrap();
        let done = app.cli(&["proofs", "import", "proofs.jsonl", "--json"]).await.expect(1).json();
        assert_eq!((&done["lines"], &done["accepted"], &done["rejected"]), (&json!(4), &json!(1), &json!(2)));
        let rejects = std::fs::read_to_string(app.directory().join("proofs.jsonl.rejects.jsonl")).unwrap();
        assert!(rejects.contains("issuer_not_allowed") && rejects.contains("\"line\":4"), "{rejects}");
        std::fs::write(app.directory().join("again.jsonl"), signed).unwrap();
        app.cli(&["proofs", "import", "again.jsonl"]).await.expect(3);

        let check = ["check", "sybil", "--kind", "gov-id", "--network", "optimism", "--action-id", ACTION];
        let checked = app.cli_json(&[&check[..], &[&one]].concat()).await;
        assert_eq!((&checked["result"], &checked["reason"]), (&json!(true), &json!("valid")));
        let rebind = [&["proofs", "rebind", "--from", &one, "--to", &two, "--key", "file:issuer.key"], &what[..]];
        app.cli(&rebind.concat()).await.expect(0);
        assert_eq!(app.cli_json(&[&check[..], &[&one]].concat()).await["reason"], "rebound");
        assert_eq!(app.cli_json(&[&check[..], &[&two, "--at", "0"]].concat()).await["result"], false);

        let revoke = ["proofs", "revoke", &two, "--kind", "gov-id", "--action-id", ACTION, "--network", "optimism"];
        app.cli(&[&revoke[..], &["--reason", "forged"]].concat()).await.expect(0);
        app.cli(&[&revoke[..], &["--reason", "forged"]].concat()).await.expect(1);
        app.cli(&["proofs", "block", &two, "--reason", "sold"]).await.expect(0);
        app.cli(&["proofs", "block", &two, "--reason", "sold"]).await.expect(3);
        assert_eq!(app.cli_json(&[&check[..], &[&two]].concat()).await["reason"], "blocked");
        app.cli(&["proofs", "unblock", &two]).await.expect(0);
        assert_eq!(app.cli_json(&["proofs", "list"]).await.as_array().map(Vec::len), Some(2));
        let residence = app.cli_json(&["check", "residence", &one, "--network", "optimism"]).await;
        assert_eq!(residence["result"], false);
        let networks = app.cli_json(&["network", "list"]).await;
        let names: Vec<_> = networks.as_array().unwrap().iter().map(|network| network["name"].clone()).collect();
        assert_eq!(names, ["optimism", "base-sepolia", "optimism-goerli", "ethereum", "base", "sui"]);
        assert!(networks[0]["head"].as_i64().unwrap() >= 1);
        assert!(networks[0]["latency_ms"].is_u64() && networks[0]["error"].is_null(), "{}", networks[0]);
    }

    async fn what_was_proved_is_checked_on_the_command_line_also_at_a_height(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let issuer = key(7);
        let add = ["proofs", "issuer", "add", &issuer.issuer().to_string(), "--kinds", "all", "--name", "Ours"];
        app.cli(&add).await.expect(0);
        let one = address(1).to_string();
        let lines = [Kind::GovId, Kind::ResidenceUs]
            .map(|kind| to_json(&issuer.sign(Statement::Register(registration(1, kind, 7)))).to_string());
        std::fs::write(app.directory().join("proofs.jsonl"), lines.join("\n")).unwrap();
        app.cli(&["proofs", "import", "proofs.jsonl"]).await.expect(0);
        let residence = ["check", "residence", &one, "--network", "optimism"];
        assert_eq!(app.cli_json(&residence).await["result"], true);
        let height = app.cli_json(&["proofs", "list"]).await[0]["from_height"].to_string();
        let reached = async || {
            let newest = app.cli_json(&["network", "list"]).await[0]["head"].as_i64();
            (newest >= height.parse().ok()).then_some(())
        };
        until("the block of the proofs", reached).await;
        let check = ["check", "sybil", "--kind", "gov-id", "--network", "optimism", "--action-id", ACTION, &one];
        let then = app.cli_json(&[&check[..], &["--at", &height]].concat()).await;
        assert_eq!((&then["result"], &then["reason"]), (&json!(true), &json!("valid")));
        assert_eq!(app.cli_json(&[&residence[..], &["--at", &height]].concat()).await["result"], true);
        assert_eq!(app.cli_json(&[&residence[..], &["--at", "0"]].concat()).await["result"], false);
    }

    async fn attestation_keys_are_listed_and_rotated(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let rotated = app.cli_json(&["proofs", "keys", "rotate", "ed25519"]).await;
        let again = app.cli_json(&["proofs", "keys", "rotate", "ed25519"]).await;
        assert_ne!(rotated[0]["public_key"], again[0]["public_key"]);
        let listed = app.cli_json(&["proofs", "keys", "list"]).await;
        let find = |key: &serde_json::Value| {
            let all = listed.as_array().unwrap().iter();
            all.clone().find(|row| row["public_key"] == key["public_key"]).unwrap_or_else(|| panic!("{listed}")).clone()
        };
        assert!(find(&rotated[0])["retired_at"].is_string() && find(&again[0])["retired_at"].is_null(), "{listed}");
        app.cli(&["proofs", "keys", "rotate", "rsa"]).await.expect(2);
    }

    async fn an_import_of_several_batches_goes_on_where_it_was_interrupted(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let issuer = key(7);
        let add = ["proofs", "issuer", "add", &issuer.issuer().to_string(), "--kinds", "gov-id", "--name", "Ours"];
        app.cli(&add).await.expect(0);
        let mut lines: Vec<String> = (1..=520).map(|number| one_of_many(&issuer, number, 10)).collect();
        // One refused line on each side of the first batch's end. Each is reported with its line number and, if a value
        // is bad, that value.
        lines[499] = to_json(&key(9).sign(Statement::Register(registration(1, Kind::GovId, 1)))).to_string();
        let mut bad = to_json(&issuer.sign(Statement::Register(registration(1, Kind::GovId, 1))));
        (bad["subject"], bad["action_id"]) = (json!("vitalik.eth"), json!("5"));
        lines[500] = bad.to_string();
        let import = async |name: &str, lines: &[String]| {
            std::fs::write(app.directory().join(name), lines.join("\n")).unwrap();
            app.cli(&["proofs", "import", name, "--json"]).await.expect(1).json()
        };
        let begun = import("begun.jsonl", &lines[..510]).await;
        assert_eq!((&begun["accepted"], &begun["rejected"]), (&json!(508), &json!(2)));
        let done = import("whole.jsonl", &lines).await;
        assert_eq!((&done["lines"], &done["rejected"]), (&json!(520), &json!(2)));
        assert_eq!((&done["accepted"], &done["unchanged"]), (&json!(10), &json!(508)));
        let rejects = std::fs::read_to_string(app.directory().join("whole.jsonl.rejects.jsonl")).unwrap();
        let rejects: Vec<serde_json::Value> =
            rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = rejects.iter().map(|reject| (reject["line"].as_u64(), reject["code"].as_str())).collect();
        assert_eq!(told, [(Some(500), Some("issuer_not_allowed")), (Some(501), Some("invalid"))]);
        let why = rejects[1]["detail"].as_str().unwrap();
        assert!(why.starts_with("subject: not an address") && why.ends_with("found \"vitalik.eth\""), "{why}");
    }

    async fn an_action_id_of_zero_is_none_for_every_command(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let issuer = key(7);
        let zero = to_json(&issuer.sign(Statement::Register(registration(1, Kind::GovId, 1)))).to_string();
        let zero = zero.replace(&format!("\"{ACTION}\""), "\"0\"");
        std::fs::write(app.directory().join("zero.jsonl"), &zero).unwrap();
        app.cli(&["proofs", "import", "zero.jsonl"]).await.expect(1);
        let why = std::fs::read_to_string(app.directory().join("zero.jsonl.rejects.jsonl")).unwrap();
        assert!(why.contains("action_id: not an action id"), "{why}");
        for arguments in [
            ["check", "sybil", "--kind", "gov-id", "--network", "optimism", "--action-id", "0"].as_slice(),
            ["proofs", "revoke", "--kind", "gov-id", "--network", "optimism", "--action-id", "0", "--reason", "x"].as_slice(),
        ] {
            let refused = app.cli(&[arguments, &[&address(1).to_string()]].concat()).await.expect(2);
            assert!(refused.stderr.contains("not an action id"), "{}", refused.stderr);
        }
    }

    async fn old_statements_are_imported_in_any_order_to_one_result(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let issuer = key(7);
        let add = ["proofs", "issuer", "add", &issuer.issuer().to_string(), "--kinds", "gov-id", "--name", "Ours"];
        app.cli(&add).await.expect(0);
        let begun = now();
        let said = |number: u8, ago: i64, days: i64| {
            let issued_at = begun - ago;
            let expires_at = issued_at + days * 24 * 3600;
            let said = Registration { issued_at, expires_at, ..registration(number, Kind::GovId, number.into()) };
            to_json(&issuer.sign(Statement::Register(said))).to_string()
        };
        // For each address an expired one, a long one, and the newest, which is short.
        let of = |number| [said(number, 900_000, 1), said(number, 3000, 300), said(number, 2000, 20)];
        let mut lines = of(1).to_vec();
        lines.extend(of(2).into_iter().rev());
        std::fs::write(app.directory().join("old.jsonl"), lines.join("\n")).unwrap();
        let done = app.cli(&["proofs", "import", "old.jsonl", "--json"]).await.expect(1).json();
        assert_eq!((&done["accepted"], &done["rejected"]), (&json!(3), &json!(3)));
        let rejects = std::fs::read_to_string(app.directory().join("old.jsonl.rejects.jsonl")).unwrap();
        assert_eq!(rejects.matches("superseded").count(), 1, "{rejects}");
        let check = ["check", "sybil", "--kind", "gov-id", "--network", "optimism", "--action-id", ACTION];
        for number in [1, 2] {
            let checked = app.cli_json(&[&check[..], &[&address(number).to_string()]].concat()).await;
            assert_eq!(checked["expirationDate"], begun - 2000 + 20 * 24 * 3600, "{number}");
        }
    }
}

/// A registration of one of many addresses, with its own nullifier.
fn one_of_many(issuer: &IssuerKey, number: u16, days: i64) -> String {
    let mut bytes = [1; 20];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    let said = registration(1, Kind::GovId, number.into());
    let expires_at = said.issued_at + days * 24 * 3600;
    let said = Registration { subject: EvmAddress(bytes).into(), expires_at, ..said };
    to_json(&issuer.sign(Statement::Register(said))).to_string()
}
