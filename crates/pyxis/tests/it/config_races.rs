//! Configuration that changes between decision and record: the request is decided again, and is never sent under the
//! old configuration.
//!
//! The last step before the record is the check of the target's address. The tests pause it, change the configuration,
//! and let it go on.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalMode, ApprovalState};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::agents::{self, AgentPatch, AgentScope};
use pyxis_gateway::admin::credentials::{self, CredentialPatch};
use pyxis_gateway::admin::policies;
use pyxis_gateway::approvals::decide::{Decision, GrantRequest, decide};
use pyxis_gateway::{SecretValue, workers};
use pyxis_store::audit::{self, AuditFilter, AuditRecord};
use pyxis_store::{approvals, grants, workspaces};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

const AUTO: &str = r#"{"auto_approve_methods": ["GET"]}"#;

/// Sends a request, changes something between decision and record, and returns the response.
async fn ask_while(proxy: &Proxy, method: &str, change: impl AsyncFnOnce()) -> (StatusCode, Value) {
    let held = proxy.gate.hold();
    let asked = proxy.send_by_name(method, "/x");
    held.asked.await.unwrap();
    change().await;
    drop(held.release);
    asked.await.unwrap()
}

async fn patch_agent(proxy: &Proxy, patch: AgentPatch) {
    let id = agents::by_name(&proxy.state.store, proxy.workspace, "default-agent").await.unwrap().row.id;
    agents::update(&proxy.state, &proxy.actor(), id, patch).await.unwrap();
}

async fn patch_credential(proxy: &Proxy, patch: CredentialPatch) {
    credentials::update(&proxy.state, &proxy.actor(), "api", patch).await.unwrap();
}

/// Records of requests that were sent.
async fn sent(proxy: &Proxy) -> usize {
    let filter = AuditFilter { events: vec![AuditEvent::RequestReceived], ..AuditFilter::default() };
    proxy.state.audit.flush().await.unwrap();
    let found = audit::search(&proxy.state.store, proxy.workspace, &filter).await.unwrap();
    let decisions = found.iter().filter_map(|entry| entry.record.record.decision.as_ref()?.known());
    decisions.filter(|decision| decision.passes()).count()
}

/// A request that the owner approves, with the grant that they ask for; returns its transaction.
async fn approved(proxy: &Proxy, wish: Option<GrantRequest>) -> TxnId {
    let (status, body) = proxy.send_by_name("POST", "/x").await.unwrap();
    assert_eq!(status, StatusCode::ACCEPTED);
    let txn = body["txn_id"].as_str().unwrap().parse().unwrap();
    let owner = proxy.approver(0, DecisionSurface::Api);
    decide(&proxy.state, &owner, txn, Decision::Approve(wish)).await.unwrap();
    txn
}

engines! {
    async fn a_request_is_judged_again_when_the_configuration_changes_before_its_record(proxy: &Proxy) {
        proxy.policy(AUTO).await;
        let hosts = credentials::get(&proxy.state.store, proxy.workspace, "api").await.unwrap().allowed_hosts;
        let hosts: Vec<String> = serde_json::from_str(&hosts).unwrap();
        let scope = |credentials| AgentPatch { credentials: Some(credentials), ..AgentPatch::default() };
        let enabled = |enabled| AgentPatch { enabled: Some(enabled), ..AgentPatch::default() };
        let only = |hosts| CredentialPatch { allowed_hosts: Some(hosts), ..CredentialPatch::default() };

        let answer = ask_while(proxy, "GET", async || proxy.policy(r#"{"deny_methods": ["GET"]}"#).await).await;
        assert_eq!((answer.0.as_u16(), &answer.1["code"]), (403, &json!("denied_by_policy")));
        proxy.policy(AUTO).await;
        let answer = ask_while(proxy, "GET", async || patch_credential(proxy, only(vec![])).await).await;
        assert_eq!((answer.0.as_u16(), &answer.1["code"]), (403, &json!("host_not_allowed")));
        patch_credential(proxy, only(hosts)).await;
        let answer = ask_while(proxy, "GET", async || patch_agent(proxy, scope(AgentScope::Named(vec![]))).await).await;
        assert_eq!((answer.0.as_u16(), &answer.1["code"]), (404, &json!("credential_not_found")));
        patch_agent(proxy, scope(AgentScope::All)).await;
        let answer = ask_while(proxy, "GET", async || patch_agent(proxy, enabled(false)).await).await;
        assert_eq!((answer.0.as_u16(), &answer.1["code"]), (401, &json!("invalid_key")));
        patch_agent(proxy, enabled(true)).await;
        let tightened = r#"{"require_approval_methods": ["GET"]}"#;
        let answer = ask_while(proxy, "GET", async || proxy.policy(tightened).await).await;
        assert_eq!((answer.0.as_u16(), &answer.1["status"]), (202, &json!("pending")));
        proxy.policy(AUTO).await;
        let removed = async || credentials::remove(&proxy.state.audited, &proxy.actor(), "api").await.unwrap();
        let answer = ask_while(proxy, "GET", removed).await;
        assert_eq!((answer.0.as_u16(), &answer.1["code"]), (404, &json!("credential_not_found")));

        assert_eq!((proxy.upstream.requests().len(), sent(proxy).await), (0, 0));
    }

    async fn a_secret_that_is_replaced_before_the_record_is_the_one_that_is_sent(proxy: &Proxy) {
        proxy.policy(AUTO).await;
        let replace = async || {
            let secret = SecretValue::from_json("another-value".into()).unwrap();
            credentials::replace_secret(&proxy.state, &proxy.actor(), "api", secret).await.unwrap();
        };
        let (status, _) = ask_while(proxy, "GET", replace).await;
        assert_eq!(status, StatusCode::OK);
        let [request] = proxy.upstream.received(1).await.try_into().unwrap();
        assert_eq!(request.header("authorization"), Some("Bearer another-value"));
        assert_eq!(sent(proxy).await, 1);
    }

    async fn an_approved_request_is_checked_again_when_the_configuration_changes_before_its_attempt(proxy: &Proxy) {
        let deny = || proxy.policy(r#"{"deny_methods": ["POST"]}"#);
        let disable = || patch_agent(proxy, AgentPatch { enabled: Some(false), ..AgentPatch::default() });
        for round in 0..2 {
            let txn = approved(proxy, None).await;
            let held = proxy.gate.hold();
            let state = proxy.state.clone();
            let sending = tokio::spawn(async move { workers::send_all(&state).await.unwrap() });
            held.asked.await.unwrap();
            if round == 0 { deny().await } else { disable().await }
            drop(held.release);
            sending.await.unwrap();
            let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
            assert_eq!((row.state, row.error.as_deref()), (ApprovalState::Approved, Some("no_longer_allowed")));
            policies::put(&proxy.state, &proxy.actor(), "api", &Policy::default()).await.unwrap();
        }
        assert_eq!(proxy.upstream.requests().len(), 0);
    }
}

/// A change that leaves every decision as it is, made while a use of a grant is claimed and not yet recorded. The
/// request is decided again, and uses the grant once.
///
/// One thread runs everything, so that a task stands still exactly where it waits for the database.
async fn a_grant_is_used_once(proxy: &Proxy, waits: impl AsyncFn()) {
    approved(proxy, Some(GrantRequest { seconds: 900, agent_only: false, max_uses: Some(1) })).await;
    workers::send_all(&proxy.state).await.unwrap();

    let held = proxy.gate.hold();
    let asked = proxy.send_by_name("POST", "/x");
    held.asked.await.unwrap();
    let mut tx = proxy.state.store.begin().await.unwrap();
    assert!(
        workspaces::update_settings(&mut tx, proxy.workspace, ApprovalMode::Gated, Some(77)).await.unwrap()
    );
    let record = AuditRecord {
        workspace_id: Some(proxy.workspace),
        ..AuditRecord::new(proxy.clock_now(), AuditEvent::SettingsChanged)
    };
    audit::append_in(&mut tx, &proxy.state.audit_keys, &[record]).await.unwrap();
    drop(held.release);
    waits().await;
    tx.commit().await.unwrap();

    assert_eq!(asked.await.unwrap().0, StatusCode::OK);
    let page = pyxis_store::Page::first(9);
    let [grant] = grants::list(&proxy.state.store, proxy.workspace, true, page, proxy.clock_now())
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!((grant.uses, sent(proxy).await), (1, 1));
    assert_eq!(proxy.upstream.received(2).await.len(), 2);
    assert_eq!(proxy.send_by_name("POST", "/x").await.unwrap().0, StatusCode::ACCEPTED);
}

mod a_grant_is_used_once_for_a_request_that_is_judged_twice {
    use super::*;

    #[tokio::test]
    async fn sqlite() {
        let proxy = Proxy::start(TestDatabase::sqlite()).await;
        // Reads run on this thread and the one writer is taken: the request runs until it writes.
        let waits = async || {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
        };
        a_grant_is_used_once(&proxy, waits).await;
    }

    #[tokio::test]
    async fn postgres() {
        let proxy = Proxy::start(TestDatabase::postgres("a grant is used once").await).await;
        let waits = async || proxy.database.as_postgres().unwrap().until_one_waits().await;
        a_grant_is_used_once(&proxy, waits).await;
    }
}
