//! Receipts over HTTP, and their verification by the program with nothing but files.

use std::path::Path;
use std::process::{Command, Output};

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{SECRET, Setup, Site};

/// Verifies in an empty directory without any setting: an auditor has the program and two files.
fn verify(receipt: &Path, keys: &Path, arguments: &[&str]) -> Output {
    verify_alone(receipt, &[&["--keys", keys.to_str().unwrap()], arguments].concat())
}

/// Verifies in the same way; only the arguments may name the keys.
fn verify_alone(receipt: &Path, arguments: &[&str]) -> Output {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pyxis"));
    command.args(["audit", "verify-receipt"]).arg(receipt).args(arguments);
    let output = command.current_dir(empty.path()).env_clear().output().unwrap();
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is created");
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

engines! {
    async fn an_agent_downloads_a_receipt_that_an_auditor_verifies_with_files_only(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause(&format!("/pay/{}?q={}", "a", "hidden-query")).await;
        let path = format!("/agent/approvals/{txn}/receipt");
        let waiting = site.agent.client.get(&path).send().await.problem(409, "receipt_not_ready");
        assert!(waiting["detail"].as_str().unwrap().contains("after the decision"), "{waiting}");
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let answer = site.agent.client.get(&path).send().await.expect(200);
        assert_eq!(answer.header("content-type"), Some("application/jwt"));
        let disposition = format!("attachment; filename=\"receipt-{txn}.jwt\"");
        assert_eq!(answer.header("content-disposition"), Some(disposition.as_str()));
        let receipt = answer.text();

        let keys = site.app.anonymous().get("/.well-known/pyxis-receipt-keys").send().await.expect(200);
        assert_eq!(keys.header("cache-control"), Some("public, max-age=300"));
        let directory = tempfile::tempdir().unwrap();
        let (file, key_file) = (directory.path().join("receipt.jwt"), directory.path().join("keys.json"));
        std::fs::write(&file, &receipt).unwrap();
        std::fs::write(&key_file, keys.text()).unwrap();
        let output = verify(&file, &key_file, &[]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text} {output:?}");
        for part in ["verified: signature by receipt key", "audit head over", "owner@localhost", "status 200", "/pay/a"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let output = verify(&file, &key_file, &["--json"]);
        let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((&value["ok"], &value["receipt"]["sub"]), (&json!(true), &json!(txn)));
        for absent in ["hidden-query", SECRET, "a body to approve"] {
            assert!(!value.to_string().contains(absent), "{absent}");
        }

        // Any change, and keys of another installation, end with 1 and a reason.
        let mut changed = receipt.clone().into_bytes();
        let middle = changed.len() / 2;
        changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
        std::fs::write(&file, changed).unwrap();
        let output = verify(&file, &key_file, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).starts_with("NOT GENUINE: the signature is wrong"), "{output:?}");
        let output = verify(&file, &key_file, &["--json"]);
        let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((output.status.code(), &value["ok"]), (Some(1), &json!(false)));
        assert_eq!(verify(&file, &directory.path().join("none"), &[]).status.code(), Some(1));
    }

    async fn a_receipt_alone_is_verified_with_the_keys_of_the_installation_or_those_next_to_it(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/a").await;
        site.owner.deny(&txn, "no").await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("receipt.jwt");
        let name = file.to_str().unwrap();
        site.app.cli(&["audit", "receipt", &txn, "--out", name]).await.expect(0);
        let here = site.app.cli(&["audit", "verify-receipt", name]).await.expect(0);
        assert!(here.stdout.contains("verified: signature by receipt key"), "{here:?}");
        assert!(here.stderr.contains("keys: the installation in "), "{here:?}");
        let here = site.app.cli_json(&["audit", "verify-receipt", name]).await;
        assert_eq!((&here["ok"], &here["receipt"]["sub"]), (&json!(true), &json!(txn)));
        assert!(here["keys"].as_str().unwrap().starts_with("the installation in "), "{here}");

        // An auditor without an installation has two files.
        let output = verify_alone(&file, &[]);
        let told = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{told}");
        let keys = directory.path().join("keys.json");
        for part in ["there is no installation here", "pyxis-receipt-keys", "--keys FILE"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        std::fs::write(&keys, site.app.cli(&["receipt-key", "export"]).await.expect(0).stdout).unwrap();
        // Keys next to a receipt may be by the person who forged it.
        assert_eq!(verify_alone(&file, &[]).status.code(), Some(1));

        // Keys of another installation do not vouch for it, and the refusal says what to do.
        let other = Site::with(Setup::new()).await;
        let refused = other.app.cli(&["audit", "verify-receipt", name]).await.expect(1);
        assert!(refused.stdout.starts_with("NOT GENUINE: ") && refused.stderr.contains("--keys FILE"), "{refused:?}");
        other.app.cli(&["audit", "verify-receipt", name, "--keys", keys.to_str().unwrap()]).await.expect(0);
    }

    async fn a_receipt_is_for_its_agent_and_for_people_who_may_see_the_request(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/a").await;
        site.owner.deny(&txn, "no").await;
        let made = site.owner.add_agent(&json!({"name": "other", "credentials": ["api"]})).await;
        let other = site.app.agent(made["key"].as_str().unwrap());
        let unknown = "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11";
        for (client, txn) in [(&other.client, txn.as_str()), (&site.agent.client, unknown), (&site.agent.client, "none")] {
            client.get(&format!("/agent/approvals/{txn}/receipt")).send().await.problem(404, "not_found");
        }
        site.owner.client.get(&format!("/approvals/{unknown}/receipt")).send().await.problem(404, "not_found");
        let path = format!("/approvals/{txn}/receipt");
        site.owner.client.get(&path).send().await.expect(200);
        site.app.anonymous().get(&path).send().await.expect(401);
        let member = json!({"email": "mem@people.example", "role": "member", "credentials": []});
        site.owner.client.post("/admin/members", &member).send().await.expect(201);
        let member = site.app.sign_in("mem@people.example").await;
        member.client.get(&path).send().await.problem(403, "not_eligible");
    }

    async fn the_command_line_issues_receipts_and_manages_their_keys(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/a").await;
        let early = site.app.cli(&["audit", "receipt", &txn]).await.expect(1);
        assert!(early.stderr.contains("not decided yet"), "{early:?}");
        site.owner.deny(&txn, "no").await;
        let directory = tempfile::tempdir().unwrap();
        let (file, key_file) = (directory.path().join("receipt.jwt"), directory.path().join("keys.json"));
        let name = file.to_str().unwrap();
        site.app.cli(&["audit", "receipt", &txn, "--out", name]).await.expect(0);
        // No file is replaced.
        site.app.cli(&["audit", "receipt", &txn, "--out", name]).await.expect(1);
        let printed = site.app.cli(&["audit", "receipt", &txn]).await.expect(0).stdout;
        assert_eq!(printed.trim().split('.').count(), 3);

        let rotated = site.owner.client.post("/admin/receipt-keys/rotate", &json!({})).send().await.expect(200).json();
        assert_eq!((&rotated["number"], &rotated["status"]), (&json!(2), &json!("active")));
        let listed = site.owner.client.get("/admin/receipt-keys").send().await.expect(200).json();
        let statuses: Vec<_> =
            listed["receipt_keys"].as_array().unwrap().iter().map(|key| key["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, ["active", "retired"]);
        let exported = site.app.cli(&["receipt-key", "export"]).await.expect(0).stdout;
        std::fs::write(&key_file, &exported).unwrap();
        assert_eq!(verify(&file, &key_file, &[]).status.code(), Some(0), "an earlier key stays published");

        site.app.cli(&["receipt-key", "rotate", "--compromised"]).await.expect(0);
        let exported = site.app.cli(&["receipt-key", "export"]).await.expect(0).stdout;
        std::fs::write(&key_file, &exported).unwrap();
        let output = verify(&file, &key_file, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("ask for the receipt again"), "{output:?}");
        let kinds: Vec<_> = site.app.audit().await.into_iter().map(|record| record["kind"].clone()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "receipt_key.rotated").count(), 2);
    }
}
