//! Tasks: `docs/reference/behavior/proxy.md#tasks`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Agent, HttpResponse, Person, Setup, Site};

/// An action of the credential `api`.
pub(super) fn action(site: &Site, method: &str, path: &str, max_uses: u32) -> Value {
    json!({"credential": "api", "method": method, "url": site.upstream.url(path), "max_uses": max_uses})
}

async fn try_propose(agent: &Agent, actions: &Value, minutes: u32) -> HttpResponse {
    let body = json!({"purpose": "Tidy the things", "actions": actions, "minutes": minutes});
    agent.client.post("/agent/tasks", &body).send().await
}

/// Proposes a task; returns its id.
pub(super) async fn propose(agent: &Agent, actions: &Value, minutes: u32) -> String {
    let task = try_propose(agent, actions, minutes).await.expect(202).json();
    assert_eq!(task["state"], "proposed", "{task}");
    task["task_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn post_task(person: &Person, task: &str, verb: &str, body: &Value) -> HttpResponse {
    person.client.post(&format!("/tasks/{task}/{verb}"), body).send().await
}

/// Proposes a task with one action and approves it.
pub(super) async fn approved(site: &Site, method: &str, path: &str, max_uses: u32) -> String {
    let task = propose(&site.agent, &json!([action(site, method, path, max_uses)]), 60).await;
    post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
    task
}

pub(super) async fn get_task(site: &Site, task: &str) -> Value {
    site.owner.client.get(&format!("/tasks/{task}")).send().await.expect(200).json()
}

/// True if a request passes without approval.
pub(super) async fn passes(site: &Site, agent: &Agent, method: &str, path: &str) -> bool {
    let before = site.upstream.requests().len();
    let call = agent.forward("api", method, &site.upstream.url(path)).body("a body to approve");
    let answer = call.send().await;
    let sent = site.upstream.requests().len() - before;
    match (answer.status, sent) {
        (200, 1) => true,
        (202, 0) => {
            agent.withdraw(&answer.txn()).await.expect(204);
            false
        }
        (403, 0) => false,
        other => panic!("{method} {path}: {other:?} {}", answer.text()),
    }
}

/// Approves a task whose only action has conditions; returns its id.
async fn approved_with(site: &Site, path: &str, conditions: &Value) -> String {
    let mut action = action(site, "POST", path, 10);
    action["content"] = conditions.clone();
    let task = propose(&site.agent, &json!([action]), 60).await;
    post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
    task
}

/// True if a JSON body to `/pay` passes without approval.
async fn pays(site: &Site, body: &Value) -> bool {
    pays_as(site, "application/json", &body.to_string()).await
}

/// The same with another type.
async fn pays_as(site: &Site, content_type: &'static str, body: &str) -> bool {
    let call = site.forward("POST", "/pay").header("content-type", content_type).body(body.to_owned());
    let answer = call.send().await;
    match answer.status {
        200 => true,
        202 => {
            site.agent.withdraw(&answer.txn()).await.expect(204);
            false
        }
        other => panic!("{body}: {other} {}", answer.text()),
    }
}

async fn second_agent(site: &Site) -> Agent {
    let agent = site.owner.add_agent(&json!({"name": "second", "credentials": "all"})).await;
    site.app.agent(agent["key"].as_str().unwrap())
}

engines! {
    async fn an_approved_task_covers_its_actions_for_its_agent_and_nothing_else(setup: Setup) {
        let site = Site::with(setup).await;
        let second = second_agent(&site).await;
        let actions = json!([action(&site, "POST", "/things/*", 3), action(&site, "DELETE", "/old", 1)]);
        let task = propose(&site.agent, &actions, 60).await;
        assert!(!passes(&site, &site.agent, "POST", "/things/1").await, "no one approved it yet");
        let answer = post_task(&site.owner, &task, "approve", &json!({})).await.expect(200).json();
        assert_eq!(answer["state"], "approved");
        assert!(passes(&site, &site.agent, "POST", "/things/1?x=1").await);
        assert!(passes(&site, &site.agent, "DELETE", "/old").await);
        assert!(!passes(&site, &second, "POST", "/things/1").await, "another agent");
        for (method, path) in [("PUT", "/things/1"), ("POST", "/things"), ("POST", "/other"), ("DELETE", "/old")] {
            assert!(!passes(&site, &site.agent, method, path).await, "{method} {path}");
        }
        let url = site.upstream.url("/things/2");
        let body = json!({"method": "POST", "url": url, "agent": "default-agent"});
        let explained = site.owner.client.post("/admin/policies/api/explain", &body).send().await.expect(200).json();
        assert_eq!((&explained["decision"], &explained["rule"]), (&json!("auto_approve"), &json!("task")));
        let task = get_task(&site, &task).await;
        let uses: Vec<_> = task["actions"].as_array().unwrap().iter().map(|action| action["uses"].clone()).collect();
        assert_eq!(uses, [1, 1], "{task}");
    }

    async fn a_person_approves_a_part_of_a_task_and_never_more(setup: Setup) {
        let site = Site::with(setup).await;
        let actions = json!([action(&site, "POST", "/a", 5), action(&site, "POST", "/b", 5)]);
        let task = propose(&site.agent, &actions, 60).await;
        for (body, field) in [
            (json!({"actions": [{"position": 1, "max_uses": 6}]}), "actions"),
            (json!({"actions": [{"position": 3, "max_uses": 1}]}), "actions"),
            (json!({"actions": [{"position": 1, "max_uses": 0}]}), "actions"),
            (json!({"actions": []}), "actions"),
            (json!({"minutes": 61}), "minutes"),
            (json!({"minutes": 0}), "minutes"),
        ] {
            let refused = post_task(&site.owner, &task, "approve", &body).await.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{body}");
        }
        assert_eq!(get_task(&site, &task).await["state"], "proposed");
        let part = json!({"actions": [{"position": 2, "max_uses": 1}], "minutes": 15});
        let task = post_task(&site.owner, &task, "approve", &part).await.expect(200).json();
        assert_eq!((&task["actions"][0]["max_uses"], &task["actions"][1]["max_uses"]), (&json!(0), &json!(1)));
        assert!(!passes(&site, &site.agent, "POST", "/a").await);
        assert!(passes(&site, &site.agent, "POST", "/b").await);
        assert!(!passes(&site, &site.agent, "POST", "/b").await);
        let path = format!("/agent/tasks/{}", task["task_id"].as_str().unwrap());
        let told = site.agent.client.get(&path).send().await.expect(200).json();
        assert_eq!(told["state"], "ended", "every use is used up");
    }

    async fn uses_are_never_exceeded_by_parallel_requests(setup: Setup) {
        let site = Site::with(setup).await;
        site.owner.lift_pending_limits().await;
        let task = approved(&site, "POST", "/things", 7).await;
        let calls: Vec<_> = (0..100)
            .map(|number| tokio::spawn(site.forward("POST", &format!("/things?{number}")).body("b").send()))
            .collect();
        let mut passed = 0;
        for call in calls {
            passed += usize::from(call.await.unwrap().status == 200);
        }
        assert_eq!(passed, 7);
        assert_eq!(site.upstream.requests().len(), 7);
        assert_eq!(get_task(&site, &task).await["actions"][0]["uses"], 7);
    }

    async fn each_use_of_a_task_is_audited_with_its_id(setup: Setup) {
        let site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 5).await;
        for _ in 0..2 {
            assert!(passes(&site, &site.agent, "POST", "/things").await);
        }
        post_task(&site.owner, &task, "stop", &json!({})).await.expect(200);
        let records = site.app.audit().await;
        let of_task = |record: &&Value| record["detail"]["task_id"] == json!(task);
        let kinds: Vec<_> = records.iter().filter(of_task).map(|record| record["kind"].as_str().unwrap()).collect();
        let expected =
            ["task.proposed", "task.approved", "request.received", "request.received", "task.stopped"];
        assert_eq!(kinds, expected);
        let uses = records.iter().filter(|record| record["decision"] == "task").count();
        assert_eq!(uses, 2);
    }

    async fn a_stopped_task_is_over_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 100).await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        let stopped = post_task(&site.owner, &task, "stop", &json!({})).await.expect(200).json();
        assert_eq!(stopped["state"], "stopped");
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        post_task(&site.owner, &task, "stop", &json!({})).await.problem(409, "conflict");
        post_task(&site.owner, &task, "approve", &json!({})).await.problem(409, "conflict");
    }

    async fn a_task_ends_at_its_time(setup: Setup) {
        let site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 100).await;
        let late = propose(&site.agent, &json!([action(&site, "POST", "/late", 1)]), 60).await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        site.app.sql("UPDATE tasks SET expires_at = created_at");
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        assert_eq!(get_task(&site, &task).await["state"], "ended");
        assert_eq!(get_task(&site, &late).await["state"], "expired");
        post_task(&site.owner, &late, "approve", &json!({})).await.problem(409, "conflict");
        // Its place is free again, and so is its wording.
        let again = propose(&site.agent, &json!([action(&site, "POST", "/late", 1)]), 60).await;
        assert_ne!(again, late);
    }

    async fn a_task_never_widens_the_policy(setup: Setup) {
        let site = Site::with(setup).await;
        let root = action(&site, "POST", "/", 100);
        let task = propose(&site.agent, &json!([root]), 60).await;
        site.policy(&json!({"deny_urls": ["/denied"], "require_approval_urls": ["/asked"]})).await;
        post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
        assert!(passes(&site, &site.agent, "POST", "/free").await);
        assert!(!passes(&site, &site.agent, "POST", "/asked/1").await);
        site.forward("POST", "/denied").send().await.problem(403, "denied_by_policy");
        let uses = &get_task(&site, &task).await["actions"][0]["uses"];
        assert_eq!(uses, 1, "what asks or is denied uses nothing up");
        site.policy(&json!({"content_rules": ["/free json /amount <= 5"]})).await;
        assert!(!passes(&site, &site.agent, "POST", "/free").await, "content that a rule finds asks");
    }

    async fn an_action_with_conditions_covers_only_content_that_meets_all_of_them(setup: Setup) {
        let site = Site::with(setup).await;
        let conditions = json!(["json /amount <= 100", "json /currency in \"eur\", \"usd\""]);
        let task = approved_with(&site, "/pay", &conditions).await;
        assert!(pays(&site, &json!({"amount": 100, "currency": "eur"})).await);
        for body in [
            json!({"amount": 101, "currency": "eur"}),
            json!({"amount": 1, "currency": "gbp"}),
            json!({"amount": 1}),
            json!({"amount": "1", "currency": "eur"}),
            json!({"amount": 1, "Amount": 900, "currency": "eur"}),
            json!({"amount": 1, "currency": "eur", "_method": "DELETE"}),
            json!([1]),
        ] {
            assert!(!pays(&site, &body).await, "{body}");
        }
        let twice = r#"{"amount":1,"amount":1,"currency":"eur"}"#;
        for (kind, body) in [("application/json", twice), ("application/json", "{"), ("text/plain", "{}")] {
            assert!(!pays_as(&site, kind, body).await, "{kind} {body}");
        }
        let large = json!({"amount": 5, "currency": "eur", "note": "n".repeat(100_000)});
        assert!(pays(&site, &large).await, "a long body is read and sent whole");
        let sent = site.upstream.requests();
        assert_eq!(sent.last().unwrap().body, large.to_string().into_bytes());
        let task = get_task(&site, &task).await;
        assert_eq!((&task["actions"][0]["uses"], &task["actions"][0]["content"]), (&json!(2), &conditions));
        let records = site.app.audit().await;
        let proposed = records.iter().find(|record| record["kind"] == "task.approved").unwrap();
        assert_eq!(proposed["detail"]["actions"][0]["content"], conditions);
    }

    async fn form_and_graphql_conditions_are_read_as_content_rules_are(setup: Setup) {
        let site = Site::with(setup).await;
        approved_with(&site, "/pay", &json!(["form amount <= 100"])).await;
        let form = "application/x-www-form-urlencoded";
        assert!(pays_as(&site, form, "amount=100").await);
        for body in ["amount=101", "amount=1&amount=1", "to=me"] {
            assert!(!pays_as(&site, form, body).await, "{body}");
        }
        approved_with(&site, "/pay", &json!(["graphql mutation closeIssue"])).await;
        let query = |document: &str| json!({ "query": document });
        assert!(pays(&site, &query("mutation { closeIssue { id } }")).await);
        for document in ["mutation { closeIssue { id } drop { id } }", "{ closeIssue }", "mutation {"] {
            assert!(!pays(&site, &query(document)).await, "{document}");
        }
    }

    async fn a_content_rule_that_asks_is_answered_by_a_condition_on_its_field_and_one_that_denies_is_not(setup: Setup) {
        let site = Site::with(setup).await;
        let large = json!({"amount": 90, "to": "me"});
        let rules = json!({"content_rules": ["/pay json /amount <= 50", "/pay json /to = \"me\" else deny"]});
        site.policy(&rules).await;
        approved_with(&site, "/pay", &json!([])).await;
        approved_with(&site, "/pay", &json!(["json /to = \"me\""])).await;
        approved_with(&site, "/pay", &json!(["json /amount >= 1"])).await;
        assert!(!pays(&site, &large).await, "no person saw a limit of the amount");
        assert!(pays(&site, &json!({"amount": 50, "to": "me"})).await);
        let limit = approved_with(&site, "/pay", &json!(["json /amount <= 100"])).await;
        assert!(pays(&site, &large).await);
        assert_eq!(get_task(&site, &limit).await["actions"][0]["uses"], 1);
        assert!(!pays(&site, &json!({"amount": 101, "to": "me"})).await);
        let call = site.forward("POST", "/pay").header("content-type", "application/json");
        call.body(json!({"amount": 5, "to": "you"}).to_string()).send().await.problem(403, "denied_by_policy");
        let explain = async |body: &Value| {
            let asked = json!({
                "method": "POST", "url": site.upstream.url("/pay"), "agent": "default-agent",
                "body": body.to_string(), "content_type": "application/json",
            });
            let answer = site.owner.client.post("/admin/policies/api/explain", &asked).send().await.expect(200).json();
            (answer["decision"].as_str().unwrap().to_owned(), answer["rule"].as_str().unwrap().to_owned())
        };
        assert_eq!(explain(&large).await, ("auto_approve".to_owned(), "task".to_owned()));
        let more = json!({"amount": 101, "to": "me"});
        assert_eq!(explain(&more).await, ("require_approval".to_owned(), "content".to_owned()));
        let open = json!({"auto_approve_urls": ["/pay"], "content_rules": ["/pay json /amount <= 50"]});
        site.policy(&open).await;
        assert!(pays(&site, &large).await, "where only the content asks, too");
        let several = json!({"content_rules": ["/pay json /amount <= 50"], "passkey_required": true});
        site.policy(&several).await;
        assert!(!pays(&site, &large).await);
    }

    async fn a_task_stops_for_good_when_the_policy_is_tightened(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        for tighter in [
            json!({"min_approvals": 2}),
            json!({"require_approval_urls": ["/things"]}),
            json!({"deny_urls": ["/things"]}),
            json!({"passkey_required": true}),
        ] {
            site.policy(&json!({})).await;
            let task = approved(&site, "POST", "/things", 100).await;
            assert!(passes(&site, &site.agent, "POST", "/things").await);
            site.policy(&tighter).await;
            assert!(!passes(&site, &site.agent, "POST", "/things").await, "{tighter}");
            site.policy(&json!({})).await;
            assert!(!passes(&site, &site.agent, "POST", "/things").await, "{tighter} was taken back");
            let task = get_task(&site, &task).await;
            assert_eq!((&task["state"], &task["reason"]), (&json!("stopped"), &json!("policy tightened")));
        }
    }

    async fn a_task_stops_when_its_secret_is_replaced_or_its_agent_is_disabled(setup: Setup) {
        let site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 100).await;
        let path = "/admin/credentials/api/secret";
        site.owner.client.put(path, &json!({"secret": "another-canary"})).send().await;
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        assert_eq!(get_task(&site, &task).await["reason"], "secret replaced");
        let task = approved(&site, "POST", "/things", 100).await;
        let waiting = propose(&site.agent, &json!([action(&site, "POST", "/more", 1)]), 60).await;
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        post_task(&site.owner, &waiting, "approve", &json!({})).await.problem(409, "conflict");
        site.app.cli(&["agent", "enable", "default-agent"]).await.expect(0);
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        assert_eq!(get_task(&site, &task).await["reason"], "agent disabled");
    }

    async fn a_task_and_its_uses_survive_a_restart(setup: Setup) {
        let mut site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 2).await;
        let waiting = propose(&site.agent, &json!([action(&site, "POST", "/more", 1)]), 60).await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        site.app.restart().await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        assert_eq!(get_task(&site, &task).await["actions"][0]["uses"], 2);
        post_task(&site.owner, &waiting, "approve", &json!({})).await.expect(200);
        assert!(passes(&site, &site.agent, "POST", "/more").await);
    }

    async fn only_those_who_may_approve_every_credential_decide(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        let member = json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "approve": true}],
        });
        site.owner.client.post("/admin/invitations", &member).send().await.expect(201);
        let member = site.app.sign_in("mem@people.example").await;
        let mut other = action(&site, "POST", "/b", 1);
        other["credential"] = json!("other");
        let both = propose(&site.agent, &json!([action(&site, "POST", "/a", 1), other]), 30).await;
        let part = json!({"actions": [{"position": 1, "max_uses": 1}]});
        for (verb, body) in [("approve", &json!({})), ("approve", &part), ("deny", &json!({})), ("stop", &json!({}))] {
            post_task(&member, &both, verb, body).await.problem(403, "not_eligible");
        }
        member.client.get(&format!("/tasks/{both}")).send().await.problem(403, "not_eligible");
        let list = member.client.get("/tasks").send().await.expect(200).json();
        assert_eq!(list["tasks"], json!([]));
        let long = propose(&site.agent, &json!([action(&site, "POST", "/a", 1)]), 31).await;
        let refused = post_task(&member, &long, "approve", &json!({})).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], "minutes");
        post_task(&member, &long, "approve", &json!({"minutes": 30})).await.expect(200);
        let list = member.client.get("/tasks?state=approved").send().await.expect(200).json();
        assert_eq!(list["tasks"].as_array().unwrap().len(), 1);
        let narrowed = json!({"allowed_approvers": ["bo@people.example"]});
        site.app.admin("bo@people.example").await;
        site.policy(&narrowed).await;
        let short = propose(&site.agent, &json!([action(&site, "POST", "/c", 1)]), 5).await;
        post_task(&member, &short, "approve", &json!({})).await.problem(403, "not_eligible");
    }
}

engines! {
    async fn an_agent_waits_for_the_decision_and_learns_the_reason(setup: Setup) {
        let site = Site::with(setup).await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/a", 1)]), 5).await;
        let wait = site.agent.client.get(&format!("/agent/tasks/{task}?wait=30")).send();
        let waiting = tokio::spawn(wait);
        post_task(&site.owner, &task, "deny", &json!({"reason": "Not today"})).await.expect(200);
        let told = waiting.await.unwrap().expect(200).json();
        assert_eq!((&told["state"], &told["reason"]), (&json!("denied"), &json!("Not today")));
        let second = second_agent(&site).await;
        let path = format!("/agent/tasks/{task}");
        second.client.get(&path).send().await.problem(404, "not_found");
        second.client.post(&format!("{path}/withdraw"), &json!({})).send().await.problem(404, "not_found");
    }

    async fn an_identical_proposal_joins_the_one_that_waits_and_few_may_wait(setup: Setup) {
        let site = Site::with(setup).await;
        let first = propose(&site.agent, &json!([action(&site, "POST", "/0", 1)]), 5).await;
        assert_eq!(propose(&site.agent, &json!([action(&site, "POST", "/0", 1)]), 5).await, first);
        for number in 1..5 {
            propose(&site.agent, &json!([action(&site, "POST", &format!("/{number}"), 1)]), 5).await;
        }
        let one_more = json!([action(&site, "POST", "/5", 1)]);
        try_propose(&site.agent, &one_more, 5).await.problem(429, "too_many_pending");
        let withdrawn = site.agent.client.post(&format!("/agent/tasks/{first}/withdraw"), &json!({}));
        assert_eq!(withdrawn.send().await.expect(200).json()["state"], "withdrawn");
        post_task(&site.owner, &first, "approve", &json!({})).await.problem(409, "conflict");
        propose(&site.agent, &one_more, 5).await;
    }

    async fn a_proposal_that_no_request_could_use_is_refused_and_says_why(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        let good = action(&site, "POST", "/a", 1);
        let with = |member: &str, value: Value| {
            let mut action = good.clone();
            action[member] = value;
            json!([action])
        };
        for (actions, field) in [
            (json!([]), "actions"),
            (json!(vec![good.clone(); 21]), "actions"),
            (with("max_uses", json!(0)), "actions[0].max_uses"),
            (with("max_uses", json!(1001)), "actions[0].max_uses"),
            (with("method", json!("TRACE")), "actions[0].method"),
            (with("method", json!("WEBSOCKET")), "actions[0].method"),
            (with("credential", json!("nope")), "actions[0].credential"),
            (with("url", json!("/a")), "actions[0].url"),
            (with("content", json!(["/a json /amount <= 5"])), "actions[0].content"),
            (with("content", json!(["json /amount <= 5 else deny"])), "actions[0].content"),
            (with("content", json!(vec!["json /amount <= 5"; 9])), "actions[0].content"),
            (with("url", json!("https://elsewhere.example/a")), "actions[0].url"),
            (with("url", json!(format!("{}?x=1", site.upstream.url("/a")))), "actions[0].url"),
        ] {
            let refused = try_propose(&site.agent, &actions, 5).await.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{actions}");
        }
        let all = json!([good]);
        for minutes in [0, 1441] {
            let refused = try_propose(&site.agent, &all, minutes).await.problem(422, "invalid_field");
            assert_eq!(refused["field"], "minutes");
        }
        for (policy, field) in [
            (json!({"deny_urls": ["/a"]}), "actions[0].url"),
            (json!({"min_approvals": 2}), "actions[0].credential"),
        ] {
            site.policy(&policy).await;
            let refused = try_propose(&site.agent, &all, 5).await.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{policy}");
        }
        let without_key = json!({"purpose": "x", "actions": all, "minutes": 5});
        let anonymous = site.app.anonymous().post("/agent/tasks", &without_key).send().await;
        anonymous.problem(401, "missing_key");
    }

    async fn a_task_that_was_proposed_under_a_looser_policy_is_not_approved_under_a_stricter_one(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/a", 1)]), 5).await;
        site.policy(&json!({"min_approvals": 2})).await;
        let refused = post_task(&site.owner, &task, "approve", &json!({})).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], "actions");
        site.policy(&json!({})).await;
        post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
    }
}
