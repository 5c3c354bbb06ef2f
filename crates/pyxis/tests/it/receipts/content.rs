//! The content of receipts, for every way in which a request can end.

use std::time::Duration;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::approvals::decide::{self, AuthMethod, ChatAccount, Decision, GrantRequest};
use pyxis_gateway::approvals::edit::{RequestEdit, Reviewed};
use pyxis_gateway::{Error, ReceiptWait, receipts, workers};
use pyxis_signing::receipt::{OutcomeStatus, ReceiptVerdict, verify};
use pyxis_store::approvals;
use pyxis_store::audit::AuditRecord;
use pyxis_testkit::engines;
use sha2::{Digest, Sha256};

use crate::races::proxy::Proxy;

async fn decide(proxy: &Proxy, person: usize, txn: TxnId, word: Decision) {
    let approver = proxy.approver(person, DecisionSurface::Dashboard);
    decide::decide(&proxy.state, &approver, txn, word).await.unwrap();
}

fn hex(bytes: &[u8]) -> String {
    pyxis_core::hex::encode(&Sha256::digest(bytes))
}

engines! {
    async fn a_receipt_of_a_sent_request_tells_who_approved_it_and_what_came_back(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        assert!(matches!(proxy.receipt(txn).await, Err(Error::ReceiptNotReady(ReceiptWait::Pending))));
        decide(proxy, 0, txn, Decision::Approve(None)).await;
        assert!(matches!(proxy.receipt(txn).await, Err(Error::ReceiptNotReady(ReceiptWait::Sending))));
        workers::send_all(&proxy.state).await.unwrap();
        let claims = proxy.receipt_claims(txn).await;
        assert_eq!((claims.sub.as_str(), claims.workspace.name.as_str()), (txn.to_string().as_str(), "races"));
        let request = &claims.request;
        assert_eq!((request.method.as_str(), request.kind.as_str()), ("POST", "forward"));
        assert!(request.target.as_ref().unwrap().ends_with("/act"), "{request:?}");
        assert_eq!((claims.credential.name.as_str(), request.min_approvals), ("api", 1));
        assert_eq!(claims.decision.verdict, ReceiptVerdict::Approved);
        assert_eq!(claims.decision.by.as_ref().unwrap().name, "a@example.com");
        assert_eq!((claims.decision.approvals, claims.decision.min_approvals), (Some(1), Some(1)));
        let [vote] = &claims.votes[..] else { panic!("{claims:?}") };
        assert_eq!((vote.ceremony.as_str(), vote.surface.as_deref()), ("session", Some("dashboard")));
        let sent = claims.sent.as_ref().unwrap();
        assert_eq!(sent.digest.as_ref(), Some(&request.digest));
        assert_eq!((claims.outcome.status, claims.outcome.upstream_status), (OutcomeStatus::Completed, Some(200)));
        let response = claims.outcome.response.as_ref().unwrap();
        assert_eq!((response.body_sha256.as_str(), response.body_bytes), (hex(b"done").as_str(), 4));
        assert_eq!(claims.grant, None);
    }

    async fn a_denied_an_expired_and_a_withdrawn_request_have_receipts_without_sending(proxy: &Proxy) {
        let denied = proxy.pause(0).await;
        decide(proxy, 1, denied, Decision::Deny(Some("free text stays out".into()))).await;
        let token = proxy.receipt(denied).await.unwrap();
        let claims = verify(&token, &proxy.receipt_keys().await).unwrap().claims;
        assert_eq!(claims.decision.verdict, ReceiptVerdict::Denied);
        assert_eq!(claims.votes[0].by.name, "b@example.com");
        assert!(!serde_json::to_string(&claims).unwrap().contains("free text"));

        let withdrawn = proxy.pause(1).await;
        proxy.withdraw(withdrawn).await;
        let ended = proxy.receipt_claims(withdrawn).await;
        assert_eq!((ended.decision.verdict, &ended.decision.by), (ReceiptVerdict::Withdrawn, &None));

        let expired = proxy.pause(2).await;
        proxy.advance(Duration::from_hours(2));
        let ended = proxy.receipt_claims(expired).await;
        assert_eq!((ended.decision.verdict, ended.votes.len()), (ReceiptVerdict::Expired, 0));
        for claims in [claims, ended] {
            assert_eq!((claims.outcome.status, &claims.sent), (OutcomeStatus::NotSent, &None));
        }
    }

    async fn a_quorum_of_two_is_told_with_both_people(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals":2}"#).await;
        let txn = proxy.pause(0).await;
        decide(proxy, 0, txn, Decision::Approve(None)).await;
        decide(proxy, 1, txn, Decision::Approve(None)).await;
        workers::send_all(&proxy.state).await.unwrap();
        let claims = proxy.receipt_claims(txn).await;
        let names: Vec<_> = claims.votes.iter().map(|vote| vote.by.name.as_str()).collect();
        assert_eq!(names, ["a@example.com", "b@example.com"]);
        assert_eq!((claims.request.min_approvals, claims.decision.approvals), (2, Some(2)));
        assert_eq!(claims.decision.by.unwrap().name, "b@example.com");
    }

    async fn a_receipt_of_an_edited_request_names_the_editor_and_every_digest(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals":2}"#).await;
        let txn = proxy.pause(0).await;
        // A vote that the edit takes away.
        decide(proxy, 0, txn, Decision::Approve(None)).await;
        let edit = RequestEdit { body: Some("edited".to_owned()), ..RequestEdit::default() };
        let approve = async |person, reviewed: Reviewed| {
            let approver = proxy.approver(person, DecisionSurface::Dashboard);
            let (word, method) = (Decision::Approve(None), AuthMethod::Session);
            decide::decide_reviewed(&proxy.state, &approver, txn, word, &method, None, &reviewed).await.unwrap();
        };
        approve(1, Reviewed { digest: None, edit: Some(edit) }).await;
        let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
        approve(0, Reviewed { digest: Some(row.digest.clone()), edit: None }).await;
        workers::send_all(&proxy.state).await.unwrap();
        let claims = proxy.receipt_claims(txn).await;
        let edit = claims.edit.as_ref().unwrap();
        assert_eq!((edit.by.as_ref().unwrap().name.as_str(), edit.edits), ("b@example.com", 1));
        assert_eq!(edit.asked_digest.as_ref(), Some(&claims.request.digest));
        for digest in [&edit.digest, &claims.decision.digest, &claims.sent.as_ref().unwrap().digest] {
            assert_eq!(digest.as_ref(), Some(&row.digest));
        }
        assert_ne!(claims.request.digest, row.digest);
        let names: Vec<_> = claims.votes.iter().map(|vote| vote.by.name.as_str()).collect();
        assert_eq!(names, ["b@example.com", "a@example.com"]);
    }

    async fn a_grant_that_was_opened_is_part_of_the_receipt(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        let wish = GrantRequest { seconds: 1800, agent_only: true, max_uses: Some(3) };
        decide(proxy, 0, txn, Decision::Approve(Some(wish))).await;
        workers::send_all(&proxy.state).await.unwrap();
        let grant = proxy.receipt_claims(txn).await.grant.unwrap();
        assert_eq!((grant.agent_only, grant.max_uses), (Some(true), Some(3)));
    }

    async fn a_decision_from_a_chat_names_the_account(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        let account = ChatAccount { platform: "telegram", account: "42".into(), label: "Ana \"A\"".into() };
        let approver = proxy.approver(0, DecisionSurface::Chat);
        let proof = AuthMethod::Chat(account);
        decide::decide_with(&proxy.state, &approver, txn, Decision::Approve(None), &proof, None).await.unwrap();
        workers::send_all(&proxy.state).await.unwrap();
        let claims = proxy.receipt_claims(txn).await;
        let vote = &claims.votes[0];
        let chat = vote.chat.as_ref().unwrap();
        assert_eq!((vote.ceremony.as_str(), chat.platform.as_str(), chat.account.as_str()), ("chat", "telegram", "42"));
        assert_eq!(chat.label, "Ana \"A\"");
    }

    async fn a_refusal_before_sending_is_an_outcome(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        decide(proxy, 0, txn, Decision::Approve(None)).await;
        proxy.policy(r#"{"deny_urls":["/act"]}"#).await;
        workers::send_all(&proxy.state).await.unwrap();
        let claims = proxy.receipt_claims(txn).await;
        assert_eq!((claims.outcome.status, &claims.sent), (OutcomeStatus::NotSent, &None));
        assert_eq!(claims.outcome.error.as_deref(), Some("no_longer_allowed"));
        assert_eq!(claims.outcome.response, None);
    }

    async fn records_far_apart_are_proved_over_stored_tiles(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        append(proxy, 1_500).await;
        decide(proxy, 0, txn, Decision::Approve(None)).await;
        workers::send_all(&proxy.state).await.unwrap();
        append(proxy, 700).await;
        let claims = proxy.receipt_claims(txn).await;
        assert!(claims.audit.head.size > 1_500, "{}", claims.audit.head.size);
        assert!(claims.audit.records.iter().all(|record| record.path.len() <= 12));
        // A second receipt uses the tiles that the first one stored.
        assert_eq!(proxy.receipt_claims(txn).await.audit.records, claims.audit.records);
        // Signed heads are shared: a receipt goes up to the nearest one.
        workers::bookkeeping_tick(&proxy.state).await.unwrap();
        append(proxy, 300).await;
        let size = proxy.receipt_claims(txn).await.audit.head.size;
        assert!(size < claims.audit.head.size + 300, "{size}");
    }

    async fn a_rotated_key_keeps_earlier_receipts_valid_and_a_compromised_one_does_not(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        decide(proxy, 0, txn, Decision::Deny(None)).await;
        let first = proxy.receipt(txn).await.unwrap();
        let actor = proxy.actor();
        receipts::keys::rotate(&proxy.state, &actor, false).await.unwrap();
        let second = proxy.receipt(txn).await.unwrap();
        let keys = proxy.receipt_keys().await;
        assert!(verify(&first, &keys).is_ok() && verify(&second, &keys).is_ok());
        assert_ne!(first.split('.').next(), second.split('.').next());
        receipts::keys::rotate(&proxy.state, &actor, true).await.unwrap();
        let keys = proxy.receipt_keys().await;
        for receipt in [first, second] {
            assert!(verify(&receipt, &keys).unwrap_err().to_string().contains("compromised"));
        }
        assert!(verify(&proxy.receipt(txn).await.unwrap(), &keys).is_ok());
        let statuses: Vec<_> =
            receipts::keys::list(&proxy.state).await.unwrap().into_iter().map(|key| key.status).collect();
        assert_eq!(statuses, ["active", "withdrawn", "withdrawn"]);
    }

    async fn no_receipt_is_signed_over_records_that_were_changed_or_cut(proxy: &Proxy) {
        let txn = proxy.pause(0).await;
        append(proxy, 600).await;
        decide(proxy, 0, txn, Decision::Deny(None)).await;
        workers::bookkeeping_tick(&proxy.state).await.unwrap();
        proxy.receipt(txn).await.unwrap();
        let edit = |event: &str, name: &str| {
            format!("UPDATE audit_records SET actor_name = '{name}' WHERE kind = '{event}'")
        };
        for (change, undo) in [
            // A record of the request itself, and one of the tail that is not in a tile.
            (edit("forward", "mallory"), edit("forward", "default-agent")),
            (edit("approval.denied", "mallory"), edit("approval.denied", "a@example.com")),
            // A tile.
            (
                "UPDATE audit_tiles SET number = number + 10 WHERE number = 0".to_owned(),
                "UPDATE audit_tiles SET number = number - 10 WHERE number = 10".to_owned(),
            ),
        ] {
            proxy.database.run(&change).await;
            assert!(matches!(proxy.receipt(txn).await, Err(Error::Internal(_))), "{change}");
            proxy.database.run(&undo).await;
            proxy.receipt(txn).await.unwrap();
        }
        // A tail that was cut together with its heads: the server remembers the last head that it signed.
        append(proxy, 1).await;
        workers::bookkeeping_tick(&proxy.state).await.unwrap();
        proxy
            .database
            .run(
                "DELETE FROM audit_checkpoints; \
                 DELETE FROM audit_records WHERE seq = (SELECT seq FROM audit_head); \
                 UPDATE audit_head SET seq = seq - 1, \
                 mac = (SELECT mac FROM audit_records WHERE audit_records.seq = audit_head.seq - 1)",
            )
            .await;
        assert!(matches!(proxy.receipt(txn).await, Err(Error::Internal(_))));
    }
}

/// Appends records that have nothing to do with the request.
async fn append(proxy: &Proxy, count: usize) {
    for number in 0..count {
        let mut record = AuditRecord::new(proxy.clock_now(), AuditEvent::SettingsChanged);
        record.detail = format!(r#"{{"number":{number},"nested":{{"b":1,"a":[{{"z":1,"y":2}}]}}}}"#);
        proxy.state.audit.append_detached(record);
    }
    proxy.state.audit.flush().await.unwrap();
}
