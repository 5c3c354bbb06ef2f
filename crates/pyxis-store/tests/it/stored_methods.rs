//! Methods of a newer version in stored rows: shown as they are, and never a permission.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{CredentialId, GrantId, UserId};
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_core::task::TaskState;
use pyxis_store::approvals::{self, MethodRisk};
use pyxis_store::audit::{self, Appender, AuditFilter, AuditKeys, AuditRecord};
use pyxis_store::grants::{self, GrantLookup, NewGrant};
use pyxis_store::tasks::{self, TaskLookup};
use pyxis_store::{Page, StoredName};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_approval, at, query_strings, tamper};
use crate::tasks::add as add_task;

const NEWER: &str = "QUERY";

fn is_newer(method: &StoredName<Method>) -> bool {
    (method.known(), method.as_str()) == (None, NEWER)
}

engines! {
    async fn an_approval_with_a_method_of_a_newer_version_is_shown_as_a_write(main: &Workspace) {
        let new = add_approval(main, "k").await;
        tamper(main, "UPDATE approvals SET method = 'QUERY'").await;
        let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert!(is_newer(&row.method));
        assert_eq!(row.method.to_string(), NEWER);
        assert_eq!(MethodRisk::from_method(&row.method), MethodRisk::Write);
    }

    async fn the_method_of_an_approval_is_stored_under_its_name(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let stored = query_strings(main, "SELECT method FROM approvals").await;
        assert_eq!(stored, ["POST"]);
        let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert!(row.method.is(Method::Post));
    }

    async fn a_grant_for_a_method_of_a_newer_version_is_listed_and_covers_nothing(main: &Workspace) {
        let new = NewGrant {
            id: GrantId::new(NOW, &OsEntropy),
            workspace_id: main.id,
            credential_id: CredentialId::new(NOW, &OsEntropy),
            credential_version: 1,
            agent_id: None,
            method: Method::Post,
            route: "https://api.example.com/".to_owned(),
            txn_id: None,
            created_by: UserId::new(NOW, &OsEntropy),
            created_by_email: "o@example.com".to_owned(),
            created_at: NOW,
            expires_at: at(1000),
            max_uses: None,
        };
        grants::insert(&main.store, &new).await.unwrap();
        tamper(main, "UPDATE grants SET method = 'QUERY'").await;
        let listed = grants::list(&main.store, main.id, false, Page { before: None, limit: 9 }, NOW).await.unwrap();
        assert!(listed.len() == 1 && is_newer(&listed[0].method));
        for method in Method::ALL {
            let wanted = GrantLookup {
                workspace: main.id,
                credential: new.credential_id,
                credential_version: 1,
                method: *method,
                route: &new.route,
                agent: None,
                now: NOW,
            };
            assert!(grants::claim_use(&main.store, &wanted).await.unwrap().is_none(), "{method}");
        }
    }

    async fn a_task_action_with_a_method_of_a_newer_version_is_shown_and_covers_nothing(main: &Workspace) {
        let credential = CredentialId::new(NOW, &OsEntropy);
        let task = add_task(main, TaskState::Approved, at(1000), &[credential], 0).await;
        tamper(main, "UPDATE task_actions SET method = 'QUERY'").await;
        let actions = tasks::actions(&main.store, main.id, task).await.unwrap();
        assert!(actions.len() == 1 && is_newer(&actions[0].method));
        let agent = tasks::find(&main.store, main.id, task).await.unwrap().unwrap().agent_id;
        let target = Target::parse("https://api.example.com/").unwrap();
        for method in Method::ALL {
            let wanted = TaskLookup {
                workspace: main.id,
                agent,
                credential,
                credential_version: 1,
                method: *method,
                target: &target,
                passkey_required: false,
                now: NOW,
            };
            assert!(tasks::covering(&main.store, &wanted).await.unwrap().is_empty(), "{method}");
        }
    }

    async fn a_record_with_a_method_of_a_newer_version_is_intact_and_found(main: &Workspace) {
        let record = AuditRecord {
            workspace_id: Some(main.id),
            method: Some(StoredName::from_name(NEWER.to_owned())),
            ..AuditRecord::new(NOW, AuditEvent::RequestReceived)
        };
        let appender = Appender::start(main.store.clone(), AuditKeys::new(&main.keyring));
        appender.append(record.clone()).await.unwrap();
        appender.append(AuditRecord { method: Some(Method::Get.into()), ..record.clone() }).await.unwrap();
        let filter = AuditFilter { method: record.method.clone(), ..AuditFilter::default() };
        let found = audit::search(&main.store, main.id, &filter).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].record.record, record);
        let verdict = audit::verify(&main.store, &AuditKeys::new(&main.keyring), None, |_, _| ()).await.unwrap();
        assert_eq!(verdict.damage, None);
    }
}
