//! No node holds state that another lacks (`docs/reference/behavior/operations.md#nodes`).

use serde_json::json;

use crate::support::{Setup, Site, in_one_hour};
use pyxis_testkit::postgres::Database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_on_one_postgres_database_act_as_one() {
    let database = Database::migrated("two_nodes").await;
    in_one_hour(Setup::on(database), async |setup| {
        let site = Site::with(setup).await;
        let node = site.app.another_node();
        let (agent, owner) = (node.agent(&site.agent.key), node.person(site.app.owner_token()));

        // Requested here, waited for here, approved there.
        let waiting = tokio::spawn(site.forward("POST", "/x").header("prefer", "wait=30").body("x").send());
        let txn = crate::support::until("the request on the other node", async || {
            let inbox = owner.client.get("/approvals").send().await.expect(200).json();
            inbox["approvals"][0]["txn_id"].as_str().map(str::to_owned)
        });
        let txn = txn.await;
        owner.approve(&txn).await;
        waiting.await.unwrap().forwarded(200);
        assert_eq!(agent.outcome(&txn).await["response"]["status"], 200);
        assert_eq!(site.upstream.requests().len(), 1);

        // Changed there, in effect here.
        owner.set_policy("api", &json!({"deny_methods": ["GET"]})).await;
        site.forward("GET", "/").send().await.problem(403, "denied_by_policy");
        site.owner.set_policy("api", &json!({"auto_approve_methods": ["GET"]})).await;
        agent.forward("api", "GET", &site.upstream.url("/")).send().await.forwarded(200);

        // One budget.
        let limited =
            owner.add_agent(&json!({"name": "ten", "credentials": "all", "rate_limit_per_hour": 10})).await;
        let key = limited["key"].as_str().unwrap();
        let agents = [site.app.agent(key), node.agent(key)];
        let url = site.upstream.url("/");
        let calls: Vec<_> = (0..32)
            .map(|number| tokio::spawn(agents[number % 2].forward("api", "GET", &url).send()))
            .collect();
        let mut passed = 0;
        for call in calls {
            passed += usize::from(call.await.unwrap().status == 200);
        }
        assert_eq!(passed, 10);
        assert_eq!(site.app.cli_json(&["audit", "verify"]).await["ok"], true);
    })
    .await;
}
