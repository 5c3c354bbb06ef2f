//! A name whose address changes between the pause and the approved execution
//! (`docs/reference/behavior/proxy.md#egress-guard`).

use std::net::IpAddr;

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::workers;
use pyxis_store::approvals;
use pyxis_testkit::engines;

use crate::races::proxy::Proxy;

const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 216, 34));
const PRIVATE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// A request that was approved while its name resolved to a public address.
async fn approved(proxy: &Proxy) -> TxnId {
    proxy.gate.moved_to(PUBLIC);
    let (status, body) = proxy.send_by_name("POST", "/x").await.unwrap();
    assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    let txn = body["txn_id"].as_str().unwrap().parse().unwrap();
    decide(&proxy.state, &proxy.approver(0, DecisionSurface::Api), txn, Decision::Approve(None))
        .await
        .unwrap();
    txn
}

async fn is_refused(proxy: &Proxy, txn: TxnId) {
    let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
    assert_eq!((row.state, row.forward_state), (ApprovalState::Approved, ForwardState::Done));
    assert_eq!(row.error.as_deref(), Some("no_longer_allowed"));
    assert_eq!(proxy.poll(txn).await.body()["error"], "no_longer_allowed");
    assert_eq!(proxy.upstream.connections(), 0);
}

engines! {
    async fn a_name_that_became_private_after_the_pause_is_not_reached(proxy: &Proxy) {
        let txn = approved(proxy).await;
        proxy.gate.moved_to(PRIVATE);
        workers::send_all(&proxy.state).await.unwrap();
        is_refused(proxy, txn).await;
    }

    async fn a_name_that_becomes_private_between_the_last_check_and_the_dial_is_not_reached(proxy: &Proxy) {
        let txn = approved(proxy).await;
        let held = proxy.gate.hold();
        let state = proxy.state.clone();
        let sending = tokio::spawn(async move { workers::send_all(&state).await.unwrap() });
        // The check has its answer, the dial will ask again.
        held.asked.await.unwrap();
        proxy.gate.moved_to(PRIVATE);
        drop(held.release);
        sending.await.unwrap();
        is_refused(proxy, txn).await;
    }

    async fn a_name_that_was_private_at_the_request_is_refused_without_a_pause(proxy: &Proxy) {
        proxy.gate.moved_to(PRIVATE);
        let (status, body) = proxy.send_by_name("POST", "/x").await.unwrap();
        assert_eq!((status, &body["code"]), (StatusCode::FORBIDDEN, &"target_not_allowed".into()));
    }
}

engines! {
    async fn what_the_request_itself_rules_out_is_refused_before_a_name_is_looked_up(proxy: &Proxy) {
        proxy.policy(r#"{
            "deny_methods": ["DELETE"],
            "deny_urls": ["/never"],
            "auto_approve_methods": ["GET"],
            "require_reason": true
        }"#).await;
        for (method, path, code) in [
            ("DELETE", "/x", "denied_by_policy"),
            ("GET", "/never/x", "denied_by_policy"),
            ("POST", "/never/x", "denied_by_policy"),
            ("POST", "/x", "missing_header"),
        ] {
            let (_, body) = proxy.send_by_name(method, path).await.unwrap();
            assert_eq!(body["code"], code, "{method} {path}: {body}");
        }
        let (_, body) = proxy.send_to_host("elsewhere.example.com", "GET", "/x").await.unwrap();
        assert_eq!(body["code"], "host_not_allowed");
        assert_eq!(proxy.gate.queries(), 0);
        assert_eq!(proxy.send_by_name("GET", "/x").await.unwrap().0, StatusCode::OK);
        assert!(proxy.gate.queries() > 0, "what passes is looked up");
    }
}
