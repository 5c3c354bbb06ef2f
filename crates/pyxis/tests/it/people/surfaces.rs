//! The surface of a decision is in the record of every decision.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::grant::DecisionSurface;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_store::audit::{self, AuditFilter};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::races::proxy::Proxy;

engines! {
    async fn every_decision_is_on_record_with_the_surface_where_it_was_given(proxy: &Proxy) {
        for (round, surface) in DecisionSurface::ALL.iter().enumerate() {
            let approver = proxy.approver(0, *surface);
            for (word, events) in [
                (Decision::Approve(None), &[AuditEvent::ApprovalVoted, AuditEvent::ApprovalApproved][..]),
                (Decision::Deny(None), &[AuditEvent::ApprovalDenied][..]),
            ] {
                let denial = usize::from(matches!(word, Decision::Deny(_)));
                let txn = proxy.pause(2 * round + denial).await;
                decide(&proxy.state, &approver, txn, word).await.unwrap();
                for event in events {
                    let filter = AuditFilter { events: vec![*event], ..AuditFilter::default() };
                    let found = audit::search(&proxy.state.store, proxy.workspace, &filter).await.unwrap();
                    let record = &found[0].record.record;
                    let detail: Value = serde_json::from_str(&record.detail).unwrap();
                    assert_eq!((record.txn_id, &detail["surface"]), (Some(txn), &Value::from(surface.as_str())));
                    // The channel of the request is something else.
                    assert_eq!(detail["channel"], "agent_reflected");
                }
            }
        }
    }
}
