//! The tree over the audit records, and proofs of single records.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::merkle_log::{LogHash, leaf_hash, root_from_path};
use pyxis_store::audit::{
    self, AuditKeys, AuditRecord, ProvenRecord, TreeEnd, TreeError, TreeHead, TreeProgress,
};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::support::{NOW, Workspace, at, tamper};

fn keys(main: &Workspace) -> AuditKeys {
    AuditKeys::new(&main.keyring)
}

async fn append(main: &Workspace, count: i64) {
    let records: Vec<AuditRecord> = (0..count)
        .map(|number| AuditRecord {
            detail: format!(r#"{{"b":{number},"a":{{"y":[1],"x":"secret reason"}}}}"#),
            ..AuditRecord::new(at(number), AuditEvent::SettingsChanged)
        })
        .collect();
    let mut tx = main.store.begin().await.unwrap();
    audit::append_in(&mut tx, &keys(main), &records).await.unwrap();
    tx.commit().await.unwrap();
}

async fn prove(
    main: &Workspace,
    end: TreeEnd,
    seqs: &[i64],
) -> Result<(TreeHead, Vec<ProvenRecord>), TreeError> {
    while audit::extend_tree(&main.store, &keys(main), end, 20_480).await? != TreeProgress::Ready {}
    audit::prove(&main.store, &keys(main), end, seqs, NOW).await
}

async fn end(main: &Workspace, seq: i64) -> TreeEnd {
    audit::end_after(&main.store, &keys(main), seq).await.unwrap().unwrap()
}

fn leaf(record: &ProvenRecord) -> LogHash {
    let content: Vec<u8> = record.members.iter().flat_map(pyxis_store::audit::Disclosure::hash).collect();
    leaf_hash(&content)
}

fn check(head: &TreeHead, records: &[ProvenRecord]) {
    for record in records {
        let (index, size) = (record.row.seq.unsigned_abs() - 1, head.end.seq.unsigned_abs());
        assert_eq!(
            root_from_path(leaf(record), index, size, &record.path),
            Some(head.root),
            "{index} of {size}"
        );
    }
}

engines! {
    async fn records_are_proved_in_logs_of_every_size(main: &Workspace) {
        let mut roots = Vec::new();
        for count in [1, 1, 253, 1, 1, 254, 1, 300] {
            append(main, count).await;
            let end = end(main, 1).await;
            let seqs = [1, 2, 255, 256, 257, end.seq - 1, end.seq];
            let mut seqs: Vec<i64> = seqs.into_iter().filter(|seq| (1..=end.seq).contains(seq)).collect();
            seqs.dedup();
            let (head, records) = prove(main, end, &seqs).await.unwrap();
            check(&head, &records);
            roots.push((end, head.root));
        }
        // Earlier ends of the log have the roots that they had, and new ones differ.
        for (end, root) in &roots {
            assert_eq!(prove(main, *end, &[1]).await.unwrap().0.root, *root);
        }
        let mut distinct: Vec<LogHash> = roots.iter().map(|(_, root)| *root).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), roots.len());
        let another = TreeEnd { mac: [1; 32], ..roots[3].0 };
        assert!(matches!(prove(main, another, &[1]).await, Err(TreeError::Damaged { .. })));
    }

    async fn a_large_log_is_hashed_in_parts_and_proved_from_tiles_of_tiles(main: &Workspace) {
        append(main, 66_000).await;
        let end = end(main, 1).await;
        let first = audit::extend_tree(&main.store, &keys(main), end, 20_480).await.unwrap();
        assert_eq!(first, TreeProgress::Building { hashed: 20_480, needed: end.seq });
        let (head, records) = prove(main, end, &[1, 40_000, 65_536, 65_537, end.seq]).await.unwrap();
        assert_eq!(records.len(), 5);
        check(&head, &records);
        // A record that is in a tile, and one whose tile is not read.
        tamper(main, "UPDATE audit_records SET actor_name = 'mallory' WHERE seq IN (40001, 60000)").await;
        assert!(matches!(prove(main, end, &[40_000]).await, Err(TreeError::Damaged { seq: 40_001 })));
        prove(main, end, &[1]).await.unwrap();
        tamper(main, "DELETE FROM audit_tiles WHERE level = 2").await;
        assert!(matches!(prove(main, end, &[1]).await, Err(TreeError::Damaged { .. })));
    }

    async fn members_are_salted_and_do_not_depend_on_their_order_in_the_store(main: &Workspace) {
        append(main, 2).await;
        let end = end(main, 1).await;
        let (_, records) = prove(main, end, &[1, 2]).await.unwrap();
        let names: Vec<&str> = records[0].members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["record", "detail.a.x", "detail.a.y", "detail.b"]);
        let members: Vec<Vec<Value>> =
            records.iter().flat_map(|record| &record.members).map(|member| serde_json::from_str(&member.text).unwrap()).collect();
        assert_eq!(members[1][1..], [Value::from("detail.a.x"), Value::from("secret reason")]);
        let mut salts: Vec<&str> = members.iter().map(|member| member[0].as_str().unwrap()).collect();
        assert!(salts.iter().all(|salt| salt.len() == 32));
        salts.sort_unstable();
        salts.dedup();
        assert_eq!(salts.len(), members.len());
        // The next call gives the same salts.
        assert_eq!(prove(main, end, &[1, 2]).await.unwrap().1[1].members, records[1].members);
    }

    async fn the_end_is_the_nearest_signed_head_or_else_the_newest_record(main: &Workspace) {
        assert_eq!(audit::end_after(&main.store, &keys(main), 1_000_000).await.unwrap(), None);
        append(main, 3).await;
        let newest = end(main, 1).await;
        let mut tx = main.store.begin().await.unwrap();
        let signed = audit::checkpoint(&mut tx, &keys(main), NOW).await.unwrap();
        tx.commit().await.unwrap();
        append(main, 3).await;
        assert_eq!(end(main, 1).await, newest);
        assert_eq!((end(main, signed.seq).await.seq, end(main, signed.seq + 1).await.seq), (signed.seq, signed.seq + 3));
        tamper(main, "UPDATE audit_checkpoints SET signed_at = signed_at + 1").await;
        assert!(matches!(audit::end_after(&main.store, &keys(main), 1).await, Err(TreeError::Damaged { .. })));
    }
}
