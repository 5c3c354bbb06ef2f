//! Spec 3, approvals: a request pauses, a person decides.

use crate::support::{SECRET, Setup, World, both_engines};

both_engines! {
    async fn post_pauses_and_is_sent_once_a_person_approves(setup: Setup) {
        let world = World::with(setup).await;
        let txn = world.pause("/things").await;
        assert_eq!(world.agent.poll(&txn).await["status"], "pending");
        assert_eq!(world.upstream.requests().len(), 0);
        assert_eq!(world.owner.approve(&txn).await["status"], "approved");
        let outcome = world.agent.outcome(&txn).await;
        assert_eq!(outcome["response"]["body"], "ok");
        let [request] = world.upstream.received(1).await.try_into().unwrap();
        assert_eq!((request.method.as_str(), request.text()), ("POST", "a body to approve"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
}
