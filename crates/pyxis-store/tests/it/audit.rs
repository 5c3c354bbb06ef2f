//! The audit chain.

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_core::policy::Method;
use pyxis_store::audit::{
    self, Appender, AuditColumn, AuditFilter, AuditKeys, AuditRecord, ChainVerdict, Checkpoint, Damage,
    DamageKind, HeadMatch,
};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at, at_once, query_strings, tamper};

fn keys(main: &Workspace) -> AuditKeys {
    AuditKeys::new(&main.keyring)
}

fn record(ws: WorkspaceId, millis: i64) -> AuditRecord {
    AuditRecord {
        at: at(millis),
        workspace_id: Some(ws),
        event: AuditEvent::RequestReceived.into(),
        actor: "agent:1".into(),
        actor_name: "default-agent".to_owned(),
        credential: Some("api".to_owned()),
        decision: Some(AuditDecision::Auto.into()),
        method: Some(Method::Get.into()),
        host: Some("api.example.com".to_owned()),
        detail: r#"{"path":"/v1/100%_sure"}"#.to_owned(),
        ..AuditRecord::default()
    }
}

fn outcome(ws: WorkspaceId, of: i64, status: i64) -> AuditRecord {
    AuditRecord {
        event: AuditEvent::RequestCompleted.into(),
        ref_seq: Some(of),
        status: Some(status),
        decision: None,
        ..record(ws, 1)
    }
}

async fn append(main: &Workspace, records: &[AuditRecord]) -> Vec<i64> {
    let mut tx = main.store.begin().await.unwrap();
    let seqs = audit::append_in(&mut tx, &keys(main), records).await.unwrap();
    tx.commit().await.unwrap();
    seqs
}

async fn ten(main: &Workspace) {
    let records: Vec<AuditRecord> = (0..10).map(|millis| record(main.id, millis)).collect();
    append(main, &records).await;
}

async fn sign(main: &Workspace) -> Checkpoint {
    let mut tx = main.store.begin().await.unwrap();
    let signed = audit::checkpoint(&mut tx, &keys(main), at(99)).await.unwrap();
    tx.commit().await.unwrap();
    signed
}

async fn verify(main: &Workspace, anchor: Option<&Checkpoint>) -> ChainVerdict {
    audit::verify(&main.store, &keys(main), anchor, |_, _| ()).await.unwrap()
}

async fn damage(main: &Workspace) -> Option<(i64, DamageKind)> {
    verify(main, None).await.damage.map(|Damage { seq, kind }| (seq, kind))
}

engines! {
    async fn an_untouched_chain_verifies(main: &Workspace) {
        assert_eq!(verify(main, None).await, ChainVerdict { records: 0, checkpoints: 0, damage: None });
        ten(main).await;
        let signed = sign(main).await;
        let last = append(main, &[record(main.id, 10)]).await;
        assert_eq!(last, [11]);
        assert_eq!(verify(main, Some(&signed)).await, ChainVerdict { records: 11, checkpoints: 2, damage: None });
        let read: Checkpoint = signed.to_string().parse().unwrap();
        assert_eq!(read, signed);
        assert!(read.is_genuine(&keys(main)));
        assert!("{}".parse::<Checkpoint>().is_err());
    }

    async fn an_edited_record_is_named(main: &Workspace) {
        ten(main).await;
        tamper(main, "UPDATE audit_records SET host = 'evil.example' WHERE seq = 4").await;
        assert_eq!(damage(main).await, Some((4, DamageKind::Edited)));
    }

    async fn a_removed_record_is_named(main: &Workspace) {
        ten(main).await;
        tamper(main, "DELETE FROM audit_records WHERE seq = 6").await;
        assert_eq!(damage(main).await, Some((6, DamageKind::Missing)));
    }

    async fn records_that_changed_places_are_named(main: &Workspace) {
        ten(main).await;
        tamper(main, "UPDATE audit_records SET seq = 99 WHERE seq = 3; \
                       UPDATE audit_records SET seq = 3 WHERE seq = 4; \
                       UPDATE audit_records SET seq = 4 WHERE seq = 99;").await;
        assert_eq!(damage(main).await, Some((3, DamageKind::Reordered)));
    }

    async fn a_cut_tail_is_noticed_by_the_head(main: &Workspace) {
        ten(main).await;
        tamper(main, "DELETE FROM audit_records WHERE seq > 8").await;
        assert_eq!(damage(main).await, Some((9, DamageKind::CutTail)));
    }

    async fn a_tail_cut_with_its_head_is_noticed_by_checkpoint_and_anchor(main: &Workspace) {
        ten(main).await;
        let anchor = sign(main).await;
        let cut = "DELETE FROM audit_records WHERE seq > 8; UPDATE audit_head SET seq = 8, \
                   mac = (SELECT mac FROM audit_records WHERE seq = 8);";
        tamper(main, cut).await;
        assert_eq!(damage(main).await, Some((9, DamageKind::CutTail)));
        tamper(main, "DELETE FROM audit_checkpoints").await;
        assert_eq!(damage(main).await, None);
        let anchored = verify(main, Some(&anchor)).await.damage;
        assert_eq!(anchored, Some(Damage { seq: 9, kind: DamageKind::CutTail }));
    }

    async fn a_forged_checkpoint_and_a_moved_head_are_noticed(main: &Workspace) {
        ten(main).await;
        sign(main).await;
        tamper(main, "UPDATE audit_checkpoints SET signed_at = signed_at + 1").await;
        assert_eq!(damage(main).await, Some((10, DamageKind::Checkpoint)));
        tamper(main, "DELETE FROM audit_checkpoints; UPDATE audit_head SET seq = 7").await;
        assert_eq!(damage(main).await, Some((7, DamageKind::Head)));
    }

    async fn another_key_verifies_nothing(main: &Workspace) {
        ten(main).await;
        tamper(main, "DELETE FROM data_keys").await;
        let entropy = pyxis_core::entropy::OsEntropy;
        let other = pyxis_store::cipher::Keyring::load(&main.store, &main.master, &entropy, NOW).await.unwrap();
        let verdict = audit::verify(&main.store, &AuditKeys::new(&other), None, |_, _| ()).await.unwrap();
        assert_eq!(verdict.damage, Some(Damage { seq: 1, kind: DamageKind::Edited }));
    }

    async fn many_appenders_leave_an_intact_chain(main: &Workspace) {
        let appenders = [
            Appender::start(main.store.clone(), keys(main)),
            Appender::start(main.store.clone(), keys(main)),
        ];
        let mut seqs: Vec<i64> = at_once(64, |number| {
            let (appender, store, keys) = (appenders[number % 2].clone(), main.store.clone(), keys(main));
            let record = record(main.id, 1);
            async move {
                let mut seqs = vec![appender.append(record.clone()).await.unwrap()];
                if number % 8 == 0 {
                    let mut tx = store.begin().await.unwrap();
                    let records = [record.clone(), record.clone()];
                    seqs.extend(audit::append_in(&mut tx, &keys, &records).await.unwrap());
                    tx.commit().await.unwrap();
                }
                appender.append_detached(record.clone());
                seqs.push(appender.append(record).await.unwrap());
                seqs
            }
        })
        .await
        .concat();
        for appender in &appenders {
            appender.flush().await.unwrap();
        }
        seqs.sort_unstable();
        let count = seqs.len();
        seqs.dedup();
        assert_eq!((count, seqs.len()), (64 * 2 + 8 * 2, 64 * 2 + 8 * 2));
        let verdict = verify(main, None).await;
        assert_eq!((verdict.records, verdict.damage), (64 * 3 + 8 * 2, None));
    }

    async fn a_signed_head_holds_while_its_record_is_as_it_was(main: &Workspace) {
        ten(main).await;
        let mut tx = main.store.begin().await.unwrap();
        let head = audit::checkpoint(&mut tx, &keys(main), NOW).await.unwrap();
        tx.commit().await.unwrap();
        let find = async |head: &Checkpoint| audit::find_head(&main.store, &keys(main), head).await.unwrap();
        append(main, &[record(main.id, 11)]).await;
        assert_eq!(find(&head).await, HeadMatch::Found);
        assert_eq!(find(&Checkpoint { seq: 9, ..head.clone() }).await, HeadMatch::Foreign, "nobody signed that");
        tamper(main, "UPDATE audit_records SET mac = (SELECT mac FROM audit_records WHERE seq = 9) WHERE seq = 10")
            .await;
        assert_eq!(find(&head).await, HeadMatch::Differs);
        tamper(main, "DELETE FROM audit_records WHERE seq >= 10").await;
        assert_eq!(find(&head).await, HeadMatch::Missing { newest: 9 });
    }

    async fn a_rolled_back_append_leaves_no_gap(main: &Workspace) {
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(audit::append_in(&mut tx, &keys(main), &[record(main.id, 1)]).await.unwrap(), [1]);
        drop(tx);
        assert_eq!(append(main, &[record(main.id, 2)]).await, [1]);
        assert_eq!(damage(main).await, None);
    }

    async fn a_stopped_appender_has_stored_everything_and_refuses_more(main: &Workspace) {
        let appender = Appender::start(main.store.clone(), keys(main));
        for millis in 0..300 {
            appender.append_detached(record(main.id, millis));
        }
        appender.stop().await.unwrap();
        assert!(appender.append(record(main.id, 1)).await.is_err());
        assert_eq!(verify(main, None).await.records, 300);
    }

    async fn a_search_joins_outcomes_filters_and_pages(main: &Workspace) {
        let denied = AuditRecord {
            decision: Some(AuditDecision::Denied.into()),
            method: Some(Method::Post.into()),
            actor_name: "Other".to_owned(),
            ..record(main.id, 5)
        };
        append(main, &[record(main.id, 1), denied]).await;
        append(main, &[outcome(main.id, 1, 503)]).await;
        let other = main.add_workspace("other").await;
        append(main, &[record(other, 1)]).await;

        let find = async |filter: AuditFilter| {
            let found = audit::search(&main.store, main.id, &filter).await.unwrap();
            found.into_iter().map(|entry| (entry.record.seq, entry.outcome.map(|row| row.seq))).collect::<Vec<_>>()
        };
        let all = AuditFilter::default;
        assert_eq!(find(all()).await, [(2, None), (1, Some(3))]);
        assert_eq!(find(AuditFilter { status_class: Some(5), ..all() }).await, [(1, Some(3))]);
        assert_eq!(find(AuditFilter { beyond_seq: Some(2), limit: 1, ..all() }).await, [(1, Some(3))]);
        for filter in [
            AuditFilter { events: vec![AuditEvent::RequestReceived, AuditEvent::UserAdded], decision: Some(AuditDecision::Denied.into()), ..all() },
            AuditFilter { method: Some(Method::Post.into()), ..all() },
            AuditFilter { text: Some("oTHER".to_owned()), ..all() },
            AuditFilter { from: Some(at(2)), to: Some(at(6)), ..all() },
        ] {
            assert_eq!(find(filter).await, [(2, None)]);
        }
        assert_eq!(find(AuditFilter { text: Some("100%_s".to_owned()), ..all() }).await.len(), 2);
        assert!(find(AuditFilter { text: Some("100_%s".to_owned()), ..all() }).await.is_empty());
        assert!(find(AuditFilter { host: Some("x".to_owned()), ..all() }).await.is_empty());
        assert!(find(AuditFilter { actor: Some("x".into()), credential: Some("api".to_owned()), ..all() }).await.is_empty());

        let recent = audit::recent_forwards(&main.store, main.id, "api", 9).await.unwrap();
        assert_eq!(recent.iter().map(|row| row.seq).collect::<Vec<_>>(), [2, 1]);
        let everything = audit::stream(&main.store, 2, None, 9).await.unwrap();
        assert_eq!(everything.iter().map(|row| row.seq).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(audit::stream(&main.store, 1, Some(other), 9).await.unwrap().len(), 1);
    }

    async fn every_order_goes_on_where_a_page_ended_and_leaves_nothing_out(main: &Workspace) {
        let of = |actor: &str, host: &str, decision: AuditDecision, millis: i64| AuditRecord {
            actor_name: actor.to_owned(),
            host: (!host.is_empty()).then(|| host.to_owned()),
            credential: (host.is_empty()).then(|| "mail".to_owned()),
            decision: Some(decision.into()),
            ..record(main.id, millis)
        };
        append(main, &[of("b", "x", AuditDecision::Auto, 1), of("A", "", AuditDecision::Denied, 2), of("b", "y", AuditDecision::Auto, 3)]).await;
        append(main, &[of("c", "y", AuditDecision::Denied, 4), outcome(main.id, 1, 500), outcome(main.id, 3, 200)]).await;
        let other = main.add_workspace("other").await;
        append(main, &[AuditRecord { workspace_id: Some(other), ..of("a", "x", AuditDecision::Auto, 5) }]).await;
        for (by, rising) in [
            (AuditColumn::At, [1, 2, 3, 4]),
            (AuditColumn::Kind, [1, 3, 2, 4]),
            (AuditColumn::Actor, [2, 1, 3, 4]),
            (AuditColumn::Subject, [2, 1, 3, 4]),
            (AuditColumn::Status, [2, 4, 3, 1]),
        ] {
            let mut falling = rising;
            falling.reverse();
            for (rising, expected) in [(true, rising), (false, falling)] {
                let mut filter = AuditFilter { by, rising, limit: 1, ..AuditFilter::default() };
                let mut seen = Vec::new();
                while let Some(entry) = audit::search(&main.store, main.id, &filter).await.unwrap().pop() {
                    filter.beyond_seq = Some(entry.record.seq);
                    seen.push(entry.record.seq);
                }
                assert_eq!(seen, expected, "{by:?} {rising}");
            }
        }
    }

    async fn a_renamed_event_is_stored_as_ever_and_read_under_its_present_name(main: &Workspace) {
        append(main, &[record(main.id, 1), outcome(main.id, 1, 200)]).await;
        append(main, &[AuditRecord { event: AuditEvent::UserSignedIn.into(), ..record(main.id, 2) }]).await;
        let read = audit::stream(&main.store, 1, None, 9).await.unwrap();
        let names: Vec<&str> = read.iter().map(|row| row.record.event.name()).collect();
        assert_eq!(names, ["request.received", "request.completed", "user.signed_in"]);
        assert_eq!(verify(main, None).await.damage, None);
        let stored = query_strings(main, "SELECT kind FROM audit_records ORDER BY seq").await;
        assert_eq!(stored, ["forward", "outcome", "sign_in"]);
    }

    async fn an_event_and_a_decision_of_a_newer_version_are_read_as_they_were_stored(main: &Workspace) {
        ten(main).await;
        tamper(main, "UPDATE audit_records SET kind = 'moon.landed' WHERE seq = 2").await;
        tamper(main, "UPDATE audit_records SET decision = 'by_moon_phase' WHERE seq = 2").await;
        let read = audit::stream(&main.store, 2, None, 1).await.unwrap();
        assert_eq!((read[0].record.event.as_known(), read[0].record.event.name()), (None, "moon.landed"));
        let decision = read[0].record.decision.as_ref().unwrap();
        assert_eq!((decision.known(), decision.as_str()), (None, "by_moon_phase"));
        let filter = AuditFilter { decision: Some(decision.clone()), ..AuditFilter::default() };
        assert_eq!(audit::search(&main.store, main.id, &filter).await.unwrap().len(), 1);
    }

    async fn requests_are_counted_by_actor_and_decision(main: &Workspace) {
        let of = |actor: &str, decision: AuditDecision, millis: i64| AuditRecord {
            actor: actor.into(),
            decision: Some(decision.into()),
            ..record(main.id, millis)
        };
        append(main, &[of("agent:1", AuditDecision::Auto, 0), of("agent:1", AuditDecision::Auto, 9), of("agent:1", AuditDecision::Denied, 9)]).await;
        append(main, &[of("agent:2", AuditDecision::Auto, 10), of("agent:1", AuditDecision::Auto, 20), outcome(main.id, 1, 200)]).await;
        append(main, &[AuditRecord { event: AuditEvent::UserSignedIn.into(), ..of("user:1", AuditDecision::Auto, 1) }]).await;
        let other = main.add_workspace("other").await;
        append(main, &[record(other, 1)]).await;
        let found = audit::requests_over_time(&main.store, main.id, at(0), at(20), 10).await.unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.at, one.actor.clone(), one.name.as_str(), one.decision.known(), one.count))
            .collect();
        assert_eq!(told, [
            (at(0), "agent:1".into(), "default-agent", Some(AuditDecision::Auto), 2),
            (at(0), "agent:1".into(), "default-agent", Some(AuditDecision::Denied), 1),
            (at(10), "agent:2".into(), "default-agent", Some(AuditDecision::Auto), 1),
        ]);
    }

    async fn entries_page_forward_with_their_outcomes(main: &Workspace) {
        let other = main.add_workspace("other").await;
        append(main, &[record(main.id, 1), record(other, 2), outcome(main.id, 1, 200), record(main.id, 3)]).await;
        append(main, &[outcome(other, 2, 404), outcome(other, 4, 500)]).await;
        let page = async |after: i64, ws: Option<WorkspaceId>, limit: u32| {
            let found = audit::entries(&main.store, after, ws, limit).await.unwrap();
            found.into_iter().map(|entry| (entry.record.seq, entry.outcome.map(|row| row.seq))).collect::<Vec<_>>()
        };
        // An outcome in another workspace does not belong to this one.
        assert_eq!(page(0, None, 9).await, [(1, Some(3)), (2, Some(5)), (4, None)]);
        assert_eq!(page(0, None, 2).await, [(1, Some(3)), (2, Some(5))]);
        assert_eq!(page(2, None, 9).await, [(4, None)]);
        assert_eq!(page(0, Some(main.id), 9).await, [(1, Some(3)), (4, None)]);
        assert_eq!(page(4, Some(main.id), 9).await, []);
    }

    async fn decisions_are_counted_in_buckets(main: &Workspace) {
        let deny = |millis| AuditRecord { decision: Some(AuditDecision::Denied.into()), ..record(main.id, millis) };
        append(main, &[record(main.id, 0), record(main.id, 9), deny(9), deny(25), record(main.id, 30)]).await;
        let counted = audit::decisions_over_time(&main.store, main.id, NOW, at(30), 10).await.unwrap();
        let expected = [(at(0), AuditDecision::Auto, 2), (at(0), AuditDecision::Denied, 1), (at(20), AuditDecision::Denied, 1)];
        assert_eq!(counted, expected.map(|(at, decision, count)| (at, decision.into(), count)));
    }
}
