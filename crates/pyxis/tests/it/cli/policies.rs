//! `pyxis policy edit` and `pyxis policy lint`, and policies that no one could satisfy.

use std::fs;

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::app::{Ran, run};
use crate::support::{Setup, Site};

/// Edits the policy of `api` with a shell command as the editor, which gets the file as `$1`.
async fn edit(site: &Site, editor: &str, more: &[&str]) -> Ran {
    let script = site.app.directory().join("editor.sh");
    fs::write(&script, editor).unwrap();
    let mut command = site.app.command(&[&["policy", "edit", "api"], more].concat());
    command.env("EDITOR", format!("sh {}", script.display())).env("PATH", "/usr/bin:/bin");
    run(command).await
}

/// Drafts that are left in the data directory.
fn drafts(site: &Site) -> usize {
    let names = fs::read_dir(site.app.data()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("policy-")).count()
}

engines! {
    async fn a_policy_is_edited_shown_as_a_difference_and_stored_with_consent(setup: Setup) {
        let site = Site::with(setup).await;
        let first = edit(&site, "true", &["--yes"]).await.expect(0);
        assert!(
            first.stdout.contains("version 1") && first.stderr.contains("+  \"auto_approve_methods\""),
            "{first:?}"
        );
        let change = "sed -i 's/\"require_reason\": false/\"require_reason\": true/' \"$1\"";
        let asked = edit(&site, change, &[]).await.expect(1);
        assert!(
            asked.stderr.contains("-  \"require_reason\": false") && asked.stderr.contains("add --yes"),
            "{asked:?}"
        );
        let show = || site.app.cli_json(&["policy", "show", "api"]);
        assert_eq!(show().await["require_reason"], false);
        edit(&site, change, &["--yes"]).await.expect(0);
        assert_eq!(show().await["require_reason"], true);
        let same = edit(&site, "true", &["--yes"]).await.expect(3);
        assert!(same.stderr.contains("the policy is unchanged"), "{same:?}");
        assert_eq!(drafts(&site), 1, "only the text that was not stored is kept");
    }

    async fn an_edit_that_cannot_be_stored_keeps_the_text_and_names_its_place(setup: Setup) {
        let site = Site::with(setup).await;
        for (editor, told) in [
            ("echo '{\"deny_method\": []}' > \"$1\"", "did you mean deny_methods?"),
            ("echo '{' > \"$1\"", "not valid JSON"),
            ("exit 7", "the editor sh "),
            ("echo '{\"min_approvals\": 2}' > \"$1\"", "2 people must approve, but only 1 person may"),
        ] {
            let refused = edit(&site, editor, &["--yes"]).await.expect(1);
            assert!(refused.stderr.contains(told), "{told}: {refused:?}");
            assert!(refused.stderr.contains("Nothing was stored; your text is in "), "{refused:?}");
        }
        assert_eq!(drafts(&site), 4);
        let meanwhile = "printf '{\"deny_methods\": [\"PUT\"]}' > other.json; \
                         \"$PYXIS\" policy set api other.json >&2; echo '{}' > \"$1\"";
        let script = site.app.directory().join("editor.sh");
        fs::write(&script, meanwhile).unwrap();
        let mut command = site.app.command(&["policy", "edit", "api", "--yes"]);
        command.env("EDITOR", format!("sh {}", script.display())).env("PATH", "/usr/bin:/bin");
        command.env("PYXIS", env!("CARGO_BIN_EXE_pyxis"));
        let raced = run(command).await.expect(1);
        assert!(raced.stderr.contains("has changed meanwhile"), "{raced:?}");
        assert_eq!(site.app.cli_json(&["policy", "show", "api"]).await["deny_methods"], json!(["PUT"]));
        let none = site.app.cli(&["policy", "edit", "api"]).await.expect(1);
        assert!(none.stderr.contains("set EDITOR"), "{none:?}");
    }

    async fn a_policy_that_no_one_can_satisfy_is_refused_by_command_and_api_alike(setup: Setup) {
        let site = Site::with(setup).await;
        for (policy, field, told) in [
            (json!({"min_approvals": 2}), "min_approvals", "only 1 person may; set 1, or add people"),
            (
                json!({"allowed_approvers": ["nobody@people.example"]}),
                "allowed_approvers",
                "no one here has the address nobody@people.example",
            ),
        ] {
            fs::write(site.app.directory().join("policy.json"), policy.to_string()).unwrap();
            let refused = site.app.cli(&["policy", "set", "api", "policy.json"]).await.expect(1);
            assert!(refused.stderr.contains(field) && refused.stderr.contains(told), "{refused:?}");
            let answer = site.owner.client.put("/admin/policies/api", &policy).send().await;
            assert_eq!(answer.problem(422, "invalid_field")["field"], field);
            let add = json!({
                "name": "other", "auth": {"kind": "bearer"}, "secret": "a-long-enough-secret",
                "allowed_hosts": ["api.example.com"], "policy": policy,
            });
            let answer = site.owner.client.post("/admin/credentials", &add).send().await;
            assert_eq!(answer.problem(422, "invalid_field")["field"], field);
        }
        site.app.admin("ada@people.example").await;
        site.policy(&json!({"min_approvals": 2, "allowed_approvers": ["ADA@people.example", "owner@localhost"]}))
            .await;
    }

    async fn lint_names_policies_that_cannot_be_satisfied_and_rules_without_effect(setup: Setup) {
        let site = Site::with(setup).await;
        let host = site.upstream.addr().to_string();
        let clean = site.app.cli(&["policy", "lint"]).await.expect(0);
        assert!(clean.stderr.contains("0 policies checked: 0 problems"), "{clean:?}");
        site.app.admin("ada@people.example").await;
        let policy = json!({
            "min_approvals": 2, "deny_urls": ["/admin"],
            "auto_approve_urls": [format!("{host}/admin/users"), "api.examp1e.com/v1"],
        });
        site.policy(&policy).await;
        site.app.cli(&["user", "disable", "ada@people.example"]).await.expect(0);
        let found = site.app.cli(&["policy", "lint", "--json"]).await.expect(1).json();
        let told: Vec<Value> =
            found["problems"].as_array().unwrap().iter().map(|one| one["detail"].clone()).collect();
        assert_eq!((found["checked"].as_u64(), told.len()), (Some(1), 3), "{found}");
        let told = Value::from(told).to_string();
        for part in
            ["only 1 person may", "api.examp1e.com/v1 never matches", "deny_urls has /admin, which comes first"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        fs::write(site.app.directory().join("draft.json"), r#"{"deny_urls": ["/x"]}"#).unwrap();
        site.app.cli(&["policy", "lint", "api", "--file", "draft.json"]).await.expect(0);
        site.app.cli(&["policy", "lint", "api"]).await.expect(1);
    }
}

engines! {
    async fn a_rule_that_never_decides_is_named_when_it_is_stored_by_command_and_api_alike(setup: Setup) {
        let site = Site::with(setup).await;
        let host = site.upstream.addr().to_string();
        let policy = json!({
            "deny_urls": ["/admin"], "auto_approve_urls": ["api.other.example/*", format!("{host}/admin/users"), "/free"],
        });
        let told = ["api.other.example/* never matches: the credential is not sent to this host", "has no effect: deny_urls"];
        fs::write(site.app.directory().join("policy.json"), policy.to_string()).unwrap();
        let stored = site.app.cli(&["policy", "set", "api", "policy.json"]).await.expect(0);
        assert_eq!(stored.stdout, "policy of api: version 1\n");
        let stored_as_json = site.app.cli_json(&["policy", "set", "api", "policy.json"]).await;
        let answer = site.owner.set_policy("api", &policy).await;
        let shown = site.owner.client.get("/admin/policies/api").send().await.expect(200).json();
        for part in told {
            assert!(stored.stderr.lines().any(|line| line.starts_with("warning: ") && line.contains(part)), "{stored:?}");
            for answer in [&stored_as_json, &answer, &shown] {
                let warnings = answer["warnings"].as_array().unwrap();
                assert_eq!(warnings.len(), 2, "{answer}");
                assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains(part)), "{answer}");
            }
        }
        let clean = site.owner.set_policy("api", &json!({"auto_approve_urls": [format!("{host}/free")]})).await;
        assert_eq!(clean.get("warnings"), None, "{clean}");
    }
}

#[tokio::test]
async fn an_unknown_field_is_answered_with_the_known_ones() {
    let site = Site::new().await;
    fs::write(site.app.directory().join("policy.json"), r#"{"GET": "allow"}"#).unwrap();
    let refused = site.app.cli(&["policy", "set", "api", "policy.json"]).await.expect(1);
    assert!(refused.stderr.contains("known fields: auto_approve_methods, "), "{refused:?}");
}
