//! The hourly limit of an agent key (`docs/reference/behavior/proxy.md#rate-limit`).

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{Agent, HttpResponse, Setup, Site, in_one_hour};

async fn limited(site: &Site, name: &str, limit: u32) -> Agent {
    let body = json!({"name": name, "credentials": "all", "rate_limit_per_hour": limit});
    let agent = site.owner.add_agent(&body).await;
    site.app.agent(agent["key"].as_str().unwrap())
}

async fn forward(site: &Site, agent: &Agent, method: &str) -> HttpResponse {
    agent.forward("api", method, &site.upstream.url("/")).send().await
}

engines! {
    async fn limit_n_admits_exactly_n_at_once(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let agent = limited(&site, "ten", 10).await;
            let url = site.upstream.url("/");
            let calls: Vec<_> = (0..64).map(|_| tokio::spawn(agent.forward("api", "GET", &url).send())).collect();
            let (mut passed, mut refused) = (0, 0);
            for call in calls {
                let answer = call.await.unwrap();
                if answer.status == 200 {
                    passed += 1;
                    continue;
                }
                answer.problem(429, "rate_limited");
                refused += 1;
                let number = |name: &str| answer.header(name).expect(name).parse::<u32>().expect("a number");
                assert_eq!((number("ratelimit-limit"), number("ratelimit-remaining")), (10, 0));
                assert!((1..=3600).contains(&number("retry-after")) && number("ratelimit-reset") <= 3600);
            }
            assert_eq!((passed, refused), (10, 54));
            assert_eq!(site.upstream.requests().len(), 10);
        })
        .await;
    }

    async fn the_budget_survives_restart_and_kill(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let mut site = Site::with(setup).await;
            let agent = limited(&site, "three", 3).await;
            forward(&site, &agent, "GET").await.forwarded(200);
            site.app.restart().await;
            forward(&site, &agent, "GET").await.forwarded(200);
            site.app.kill().await;
            site.app.serve();
            forward(&site, &agent, "GET").await.forwarded(200);
            forward(&site, &agent, "GET").await.problem(429, "rate_limited");
        })
        .await;
    }
}

#[tokio::test]
async fn a_request_over_the_limit_creates_no_transaction() {
    in_one_hour(Setup::new(), async |setup| {
        let site = Site::with(setup).await;
        let agent = limited(&site, "one", 1).await;
        let txn = forward(&site, &agent, "POST").await.txn();
        for _ in 0..3 {
            forward(&site, &agent, "PUT").await.problem(429, "rate_limited");
        }
        let inbox = site.owner.client.get("/approvals").send().await.expect(200).json();
        assert_eq!(inbox["approvals"].as_array().unwrap().len(), 1);
        // Polling and withdrawing are free.
        for _ in 0..3 {
            assert_eq!(agent.poll(&txn).await["status"], "pending");
        }
        agent.withdraw(&txn).await.expect(204);
    })
    .await;
}

#[tokio::test]
async fn what_counts_is_a_valid_key_and_valid_control_headers() {
    in_one_hour(Setup::new(), async |setup| {
        let site = Site::with(setup).await;
        let agent = limited(&site, "three", 3).await;
        let url = site.upstream.url("/");
        agent.forward("api", "TRACE", &url).send().await.problem(400, "invalid_method");
        agent
            .forward("api", "GET", &url)
            .header("x-px-body", "x")
            .send()
            .await
            .problem(400, "unknown_header");
        agent.forward("api", "GET", &url).without("x-px-target").send().await.problem(400, "missing_header");
        // These three count, whatever their outcome.
        agent.forward("nothing", "GET", &url).send().await.problem(404, "credential_not_found");
        agent.forward("api", "GET", "nonsense").send().await.problem(400, "invalid_target");
        agent.forward("api", "GET", "https://far.example.com/").send().await.problem(403, "host_not_allowed");
        // The limit is checked before target and credential.
        agent.forward("nothing", "GET", "nonsense").send().await.problem(429, "rate_limited");
    })
    .await;
}

#[tokio::test]
async fn keys_count_alone_and_no_limit_means_no_limit() {
    in_one_hour(Setup::new(), async |setup| {
        let site = Site::with(setup).await;
        let (one, two) = (limited(&site, "one", 1).await, limited(&site, "two", 1).await);
        forward(&site, &one, "GET").await.forwarded(200);
        forward(&site, &one, "GET").await.problem(429, "rate_limited");
        forward(&site, &two, "GET").await.forwarded(200);
        for _ in 0..20 {
            forward(&site, &site.agent, "GET").await.forwarded(200);
        }
    })
    .await;
}
