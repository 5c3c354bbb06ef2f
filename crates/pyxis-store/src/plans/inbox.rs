//! A page of the inbox is read in the order of an index over pending requests.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::{CredentialId, TxnId, WorkspaceId};

use super::{Recorder, migrated, plan};
use crate::Engine;
use crate::approvals::{self, ApprovalColumn, ApprovalFilter, MethodRisk};

fn filter() -> ApprovalFilter {
    ApprovalFilter {
        state: Some(ApprovalState::Pending),
        settled: false,
        text: None,
        agent: None,
        credential: None,
        risk: None,
        by: ApprovalColumn::Asked,
        rising: true,
        beyond: None,
        limit: 51,
    }
}

#[tokio::test]
async fn a_page_of_pending_requests_is_read_in_index_order() {
    let (_directory, connection) = migrated().await;
    let (at, entropy) = (UnixMillis(0), SeededEntropy::new(1));
    let ws = WorkspaceId::new(at, &entropy);
    let (txn, credential) = (TxnId::new(&entropy), CredentialId::new(at, &entropy));
    let recorder = Recorder::new(Engine::Sqlite);
    let r = &recorder;
    for rising in [true, false] {
        let first = ApprovalFilter { rising, ..filter() };
        let narrowed = ApprovalFilter {
            beyond: Some((at, txn)),
            text: Some("a".to_owned()),
            credential: Some(credential),
            risk: Some(MethodRisk::Delete),
            ..first.clone()
        };
        for filter in [&first, &narrowed] {
            let _ = approvals::list(r, ws, filter).await;
            let _ = approvals::list_ids(r, ws, filter, None).await;
            let _ = approvals::count(r, ws, filter, None).await;
        }
    }
    let statements = recorder.into_noted();
    assert_eq!(statements.len(), 12);
    for text in statements {
        let steps = plan(&connection, &text);
        assert_eq!(steps.len(), 1, "{text}\n{steps:#?}");
        // Any index over pending requests counts them.
        let index =
            if text.starts_with("SELECT count") { "approvals_pending_" } else { "approvals_pending_by_age" };
        assert!(steps[0].contains(index), "{text}\n{steps:#?}");
    }
}

#[tokio::test]
async fn the_bodies_of_a_page_are_looked_up_by_their_requests() {
    let (_directory, connection) = migrated().await;
    let entropy = SeededEntropy::new(1);
    let recorder = Recorder::new(Engine::Sqlite);
    let txns: Vec<TxnId> = (0..50).map(|_| TxnId::new(&entropy)).collect();
    let _ = approvals::requests(&recorder, WorkspaceId::new(UnixMillis(0), &entropy), &txns).await;
    let steps = plan(&connection, &recorder.into_noted()[0]);
    assert!(steps.iter().all(|step| step.starts_with("SEARCH approval_bodies")), "{steps:#?}");
}
