//! Counters, keys, leases and other small tables.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, TxnId};
use pyxis_store::cipher::Aad;
use pyxis_store::idempotency::{self, Claim, KeyState, NewKey};
use pyxis_store::{leases, limits, meta, nodes};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_agent, add_workspace, at, at_once, exactly_one, node};

fn new_key(world: &World) -> NewKey {
    NewKey {
        agent_id: AgentId::new(NOW, &OsEntropy),
        key_hash: "k".to_owned(),
        workspace_id: world.ws,
        fingerprint: "f".to_owned(),
        node_id: node(),
        created_at: NOW,
        expires_at: at(1000),
    }
}

async fn state(world: &World, key: &NewKey) -> Option<KeyState> {
    let row = idempotency::find(&world.store, world.ws, key.agent_id, &key.key_hash).await.unwrap();
    row.map(|row| row.state)
}

engines! {
    async fn a_limit_of_n_admits_exactly_n_among_many(world: &World) {
        let agent = add_agent(world, "bot", &[]).await;
        let admitted = at_once(64, |_| {
            let store = world.store.clone();
            async move { limits::admit(&store, agent, NOW, 17).await.unwrap().admitted }
        })
        .await;
        assert_eq!(admitted.into_iter().filter(|admitted| *admitted).count(), 17);
        add_agent(world, "idle", &[]).await;
        assert_eq!(limits::used(&world.store, world.ws, NOW).await.unwrap(), [(agent, 17)]);
        let elsewhere = add_workspace(&world.store, "elsewhere").await;
        assert_eq!(limits::used(&world.store, elsewhere, NOW).await.unwrap(), []);
        let refused = limits::admit(&world.store, agent, NOW, 17).await.unwrap();
        assert_eq!((refused.admitted, refused.count), (false, 17));
        let next = limits::admit(&world.store, agent, at(3_600_000), 17).await.unwrap();
        assert_eq!((next.admitted, next.count), (true, 1));
        assert!(!limits::admit(&world.store, AgentId::new(at(1), &OsEntropy), NOW, 0).await.unwrap().admitted);
        assert_eq!(limits::purge(&world.store, at(1)).await.unwrap(), 1);
        assert_eq!(limits::used(&world.store, world.ws, NOW).await.unwrap(), []);
    }

    async fn one_of_many_claims_an_idempotency_key(world: &World) {
        let key = new_key(world);
        let claims = at_once(16, |_| {
            let (store, key) = (world.store.clone(), key.clone());
            async move { idempotency::claim(&store, &key).await.unwrap() == Claim::New }
        })
        .await;
        assert!(exactly_one(claims));
        match idempotency::claim(&world.store, &key).await.unwrap() {
            Claim::Existing(row) => assert_eq!((row.fingerprint.as_str(), row.state), ("f", KeyState::InProgress)),
            Claim::New => panic!("the key was claimed before"),
        }
        let later = NewKey { created_at: at(1000), expires_at: at(2000), ..key.clone() };
        assert_eq!(idempotency::claim(&world.store, &later).await.unwrap(), Claim::New);
    }

    async fn a_key_is_released_attached_or_completed_only_while_in_progress(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let key = new_key(world);
        idempotency::claim(store, &key).await.unwrap();
        assert!(idempotency::release(store, ws, key.agent_id, "k").await.unwrap());
        assert_eq!(state(world, &key).await, None);
        assert_eq!(idempotency::claim(store, &key).await.unwrap(), Claim::New);
        let txn = TxnId::new(&OsEntropy);
        assert!(idempotency::attach_txn(store, ws, key.agent_id, "k", txn).await.unwrap());
        assert!(!idempotency::release(store, ws, key.agent_id, "k").await.unwrap());

        let key = new_key(world);
        idempotency::claim(store, &key).await.unwrap();
        let aad = Aad::new("idempotency", "sealed_outcome", ws, key.agent_id);
        let outcome = world.keyring.seal(&OsEntropy, &aad, b"200");
        assert!(idempotency::complete(store, ws, key.agent_id, "k", outcome.clone()).await.unwrap());
        assert!(!idempotency::complete(store, ws, key.agent_id, "k", outcome.clone()).await.unwrap());
        let row = idempotency::find(store, ws, key.agent_id, "k").await.unwrap().unwrap();
        assert_eq!((row.state, row.sealed_outcome), (KeyState::Done, Some(outcome)));
        assert_eq!(idempotency::purge(store, at(999)).await.unwrap(), 0);
        assert_eq!(idempotency::purge(store, at(1000)).await.unwrap(), 2);
    }

    async fn a_key_whose_outcome_is_lost_stays_used(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let key = new_key(world);
        assert!(!idempotency::lose(store, ws, key.agent_id, "k").await.unwrap());
        idempotency::claim(store, &key).await.unwrap();
        let other = add_workspace(store, "other").await;
        assert!(!idempotency::lose(store, other, key.agent_id, "k").await.unwrap());
        assert!(idempotency::lose(store, ws, key.agent_id, "k").await.unwrap());
        assert!(!idempotency::lose(store, ws, key.agent_id, "k").await.unwrap());
        assert!(!idempotency::release(store, ws, key.agent_id, "k").await.unwrap());
        match idempotency::claim(store, &key).await.unwrap() {
            Claim::Existing(row) => assert_eq!((row.state, row.sealed_outcome), (KeyState::Done, None)),
            Claim::New => panic!("what may have been sent would be sent again"),
        }
    }

    async fn keys_of_dead_nodes_become_unknown(world: &World) {
        let (dead, mine) = (new_key(world), new_key(world));
        idempotency::claim(&world.store, &dead).await.unwrap();
        idempotency::claim(&world.store, &mine).await.unwrap();
        nodes::heartbeat(&world.store, dead.node_id, at(10)).await.unwrap();
        let mut tx = world.store.begin().await.unwrap();
        assert_eq!(idempotency::abandon(&mut tx, mine.node_id, Some(at(10))).await.unwrap(), 0);
        assert_eq!(idempotency::abandon(&mut tx, mine.node_id, Some(at(11))).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert_eq!(state(world, &dead).await, Some(KeyState::Done));
        assert_eq!(state(world, &mine).await, Some(KeyState::InProgress));
    }

    async fn one_node_at_a_time_holds_a_lease(world: &World) {
        let (a, b) = (node(), node());
        let acquire = async |node, now, until| {
            leases::acquire(&world.store, "sweeper", node, at(now), at(until)).await.unwrap()
        };
        let is_held = async |now| leases::is_held(&world.store, "sweeper", at(now)).await.unwrap();
        assert!(!is_held(0).await);
        assert!(acquire(a, 0, 10).await);
        assert!(is_held(9).await && !is_held(10).await);
        assert!(!acquire(b, 5, 15).await);
        assert!(acquire(a, 5, 15).await);
        assert!(acquire(b, 15, 25).await);
        leases::release(&world.store, "sweeper", a).await.unwrap();
        assert!(!acquire(a, 16, 26).await);
        leases::release(&world.store, "sweeper", b).await.unwrap();
        assert!(acquire(a, 17, 27).await);
    }

    async fn a_fact_is_stored_once(world: &World) {
        assert!(meta::put_if_absent(&world.store, "k", "1").await.unwrap());
        assert!(!meta::put_if_absent(&world.store, "k", "2").await.unwrap());
        assert_eq!(meta::get(&world.store, "k").await.unwrap().as_deref(), Some("1"));
        assert_eq!(meta::get(&world.store, "other").await.unwrap(), None);
    }
}
