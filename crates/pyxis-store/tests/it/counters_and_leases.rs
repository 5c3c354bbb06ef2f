//! Counters, keys, leases and other small tables.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, TxnId};
use pyxis_store::cipher::Aad;
use pyxis_store::idempotency::{self, Claim, KeyState, NewKey};
use pyxis_store::{leases, limits, meta, nodes};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, at, at_once, exactly_one, node};

fn new_key(main: &Workspace) -> NewKey {
    NewKey {
        agent_id: AgentId::new(NOW, &OsEntropy),
        key_hash: "k".to_owned(),
        workspace_id: main.id,
        fingerprint: "f".to_owned(),
        node_id: node(),
        created_at: NOW,
        expires_at: at(1000),
    }
}

async fn state(main: &Workspace, key: &NewKey) -> Option<KeyState> {
    let row = idempotency::find(&main.store, main.id, key.agent_id, &key.key_hash).await.unwrap();
    row.map(|row| row.state)
}

engines! {
    async fn a_limit_of_n_admits_exactly_n_among_many(main: &Workspace) {
        let agent = add_agent(main, "bot", &[]).await;
        let admitted = at_once(64, |_| {
            let store = main.store.clone();
            async move { limits::admit(&store, agent, NOW, 17).await.unwrap().admitted }
        })
        .await;
        assert_eq!(admitted.into_iter().filter(|admitted| *admitted).count(), 17);
        add_agent(main, "idle", &[]).await;
        assert_eq!(limits::used(&main.store, main.id, NOW).await.unwrap(), [(agent, 17)]);
        let elsewhere = main.add_workspace("elsewhere").await;
        assert_eq!(limits::used(&main.store, elsewhere, NOW).await.unwrap(), []);
        let refused = limits::admit(&main.store, agent, NOW, 17).await.unwrap();
        assert_eq!((refused.admitted, refused.count), (false, 17));
        let next = limits::admit(&main.store, agent, at(3_600_000), 17).await.unwrap();
        assert_eq!((next.admitted, next.count), (true, 1));
        assert!(!limits::admit(&main.store, AgentId::new(at(1), &OsEntropy), NOW, 0).await.unwrap().admitted);
        assert_eq!(limits::purge(&main.store, at(1)).await.unwrap(), 1);
        assert_eq!(limits::used(&main.store, main.id, NOW).await.unwrap(), []);
    }

    async fn one_of_many_claims_an_idempotency_key(main: &Workspace) {
        let key = new_key(main);
        let claims = at_once(16, |_| {
            let (store, key) = (main.store.clone(), key.clone());
            async move { idempotency::claim(&store, &key).await.unwrap() == Claim::New }
        })
        .await;
        assert!(exactly_one(claims));
        match idempotency::claim(&main.store, &key).await.unwrap() {
            Claim::Existing(row) => assert_eq!((row.fingerprint.as_str(), row.state), ("f", KeyState::InProgress)),
            Claim::New => panic!("the key was claimed before"),
        }
        let later = NewKey { created_at: at(1000), expires_at: at(2000), ..key.clone() };
        assert_eq!(idempotency::claim(&main.store, &later).await.unwrap(), Claim::New);
    }

    async fn a_key_is_released_attached_or_completed_only_while_in_progress(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = new_key(main);
        idempotency::claim(store, &key).await.unwrap();
        assert!(idempotency::release(store, ws, key.agent_id, "k").await.unwrap());
        assert_eq!(state(main, &key).await, None);
        assert_eq!(idempotency::claim(store, &key).await.unwrap(), Claim::New);
        let txn = TxnId::new(&OsEntropy);
        assert!(idempotency::attach_txn(store, ws, key.agent_id, "k", txn).await.unwrap());
        assert!(!idempotency::release(store, ws, key.agent_id, "k").await.unwrap());

        let key = new_key(main);
        idempotency::claim(store, &key).await.unwrap();
        let aad = Aad::new("idempotency", "sealed_outcome", ws, key.agent_id);
        let outcome = main.keyring.seal(&OsEntropy, &aad, b"200");
        assert!(idempotency::complete(store, ws, key.agent_id, "k", outcome.clone()).await.unwrap());
        assert!(!idempotency::complete(store, ws, key.agent_id, "k", outcome.clone()).await.unwrap());
        let row = idempotency::find(store, ws, key.agent_id, "k").await.unwrap().unwrap();
        assert_eq!((row.state, row.sealed_outcome), (KeyState::Done, Some(outcome)));
        assert_eq!(idempotency::purge(store, at(999)).await.unwrap(), 0);
        assert_eq!(idempotency::purge(store, at(1000)).await.unwrap(), 2);
    }

    async fn a_key_is_linked_to_its_newest_transaction(main: &Workspace) {
        let key = new_key(main);
        let linked = async || {
            let row = idempotency::find(&main.store, main.id, key.agent_id, "k").await.unwrap().unwrap();
            (row.state, row.txn_id)
        };
        for txn in [TxnId::new(&OsEntropy), TxnId::new(&OsEntropy)] {
            idempotency::link_txn(&main.store, &key, txn).await.unwrap();
            assert_eq!(linked().await, (KeyState::Txn, Some(txn)));
        }
    }

    async fn a_key_whose_outcome_is_lost_stays_used(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = new_key(main);
        assert!(!idempotency::mark_outcome_unknown(store, ws, key.agent_id, "k").await.unwrap());
        idempotency::claim(store, &key).await.unwrap();
        let other = main.add_workspace("other").await;
        assert!(!idempotency::mark_outcome_unknown(store, other, key.agent_id, "k").await.unwrap());
        assert!(idempotency::mark_outcome_unknown(store, ws, key.agent_id, "k").await.unwrap());
        assert!(!idempotency::mark_outcome_unknown(store, ws, key.agent_id, "k").await.unwrap());
        assert!(!idempotency::release(store, ws, key.agent_id, "k").await.unwrap());
        match idempotency::claim(store, &key).await.unwrap() {
            Claim::Existing(row) => assert_eq!((row.state, row.sealed_outcome), (KeyState::Done, None)),
            Claim::New => panic!("what may have been sent would be sent again"),
        }
    }

    async fn keys_of_dead_nodes_become_unknown(main: &Workspace) {
        let (dead, mine) = (new_key(main), new_key(main));
        idempotency::claim(&main.store, &dead).await.unwrap();
        idempotency::claim(&main.store, &mine).await.unwrap();
        nodes::heartbeat(&main.store, dead.node_id, at(10)).await.unwrap();
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(idempotency::abandon(&mut tx, mine.node_id, Some(at(10))).await.unwrap(), 0);
        assert_eq!(idempotency::abandon(&mut tx, mine.node_id, Some(at(11))).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert_eq!(state(main, &dead).await, Some(KeyState::Done));
        assert_eq!(state(main, &mine).await, Some(KeyState::InProgress));
    }

    async fn one_node_at_a_time_holds_a_lease(main: &Workspace) {
        let (a, b) = (node(), node());
        let acquire = async |node, now, until| {
            leases::acquire(&main.store, "sweeper", node, at(now), at(until)).await.unwrap()
        };
        let is_held = async |now| leases::is_held(&main.store, "sweeper", at(now)).await.unwrap();
        assert!(!is_held(0).await);
        assert!(acquire(a, 0, 10).await);
        assert!(is_held(9).await && !is_held(10).await);
        assert!(!acquire(b, 5, 15).await);
        assert!(acquire(a, 5, 15).await);
        assert!(acquire(b, 15, 25).await);
        leases::release(&main.store, "sweeper", a).await.unwrap();
        assert!(!acquire(a, 16, 26).await);
        leases::release(&main.store, "sweeper", b).await.unwrap();
        assert!(acquire(a, 17, 27).await);
    }

    async fn a_fact_is_stored_once(main: &Workspace) {
        assert!(meta::put_if_absent(&main.store, "k", "1").await.unwrap());
        assert!(!meta::put_if_absent(&main.store, "k", "2").await.unwrap());
        assert_eq!(meta::get(&main.store, "k").await.unwrap().as_deref(), Some("1"));
        assert_eq!(meta::get(&main.store, "other").await.unwrap(), None);
    }
}
