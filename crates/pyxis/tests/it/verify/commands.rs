//! `pyxis proofs`, `pyxis network` and `pyxis check`.

use pyxis_core::proof::{Kind, Statement};
use pyxis_verify::registry::to_json;
use serde_json::json;

use super::stage::{ACTION, address, key, registration};
use crate::support::{App, Setup, both_engines};

both_engines! {
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
        assert_eq!(names, ["optimism", "base-sepolia", "optimism-goerli", "sui"]);
        assert!(networks[0]["head"].as_i64().unwrap() >= 1);
    }
}
