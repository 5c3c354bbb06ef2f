//! The whole matrix: person × route, and person × action × state of the credential, in one table for the API and the
//! pages. `docs/reference/behavior/proxy.md#approvers`.

use pyxis_testkit::engines;
use pyxis_testkit::rights::{Action, ActionOutcome, Terms, Who, outcome};
use serde_json::{Value, json};

use super::tokens::token;
use crate::support::{App, Client, HttpResponse, Person, Setup, Site};

/// A caller to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Nobody,
    Agent,
    /// An API key of scoring, sent in both headers.
    ApiKey,
    /// Signed in; grants are on `api`.
    Person(Who),
    /// The owner's token with `px:approve`.
    ApproveToken,
    /// The owner's token with `px:admin`.
    AdminToken,
}

impl Caller {
    /// The person whose rights the caller has, if the action is open to it at all.
    fn speaks_for(self, action: Action) -> Option<Who> {
        match (self, action) {
            // The API is not a page of the dashboard.
            (_, Action::DashboardGrant) | (Self::Nobody | Self::Agent | Self::ApiKey, _) => None,
            (Self::Person(who), _) => Some(who),
            (Self::ApproveToken, _) => (action != Action::Edit).then_some(Who::Owner),
            (Self::AdminToken, _) => (action == Action::Edit).then_some(Who::Owner),
        }
    }
}

/// Kind of access that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequiredAccess {
    /// Sessions and tokens with `px:approve`.
    Approving,
    /// Sessions and tokens with `px:admin`, of any role; the credential decides.
    Editing,
    /// Owners and admins: sessions and tokens with `px:admin`.
    Managers,
    /// Owners and admins: sessions only.
    ManagersInPerson,
    /// Sessions only, of any role.
    Session,
    /// Not for people.
    Other,
}

fn required_access(method: &str, path: &str) -> RequiredAccess {
    match (method, path) {
        (_, path) if path.starts_with("/approvals") => RequiredAccess::Approving,
        ("DELETE", "/session") => RequiredAccess::Session,
        (_, path) if path.starts_with("/admin/tokens") || path == "/admin/quiet-hours" => {
            RequiredAccess::Session
        }
        ("POST", "/admin/invitations" | "/admin/members" | "/admin/members/{id}/link") => {
            RequiredAccess::ManagersInPerson
        }
        ("DELETE", "/admin/policies/{credential}") => RequiredAccess::Managers,
        (_, path) if path.starts_with("/admin/policies/") => RequiredAccess::Editing,
        (_, path) if path.starts_with("/admin/") => RequiredAccess::Managers,
        _ => RequiredAccess::Other,
    }
}

/// The status of a refusal; `None` if admitted.
fn refusal(access: RequiredAccess, caller: Caller) -> Option<(u16, &'static str)> {
    use Caller as C;
    match (access, caller) {
        (_, C::Nobody | C::Agent | C::ApiKey) => Some((401, "unauthenticated")),
        (RequiredAccess::Approving, C::AdminToken)
        | (RequiredAccess::Editing | RequiredAccess::Managers, C::ApproveToken) => {
            Some((403, "insufficient_scope"))
        }
        // Unknown names are 404 for members, too; for `api` they need the grant.
        (RequiredAccess::Session | RequiredAccess::ManagersInPerson, C::ApproveToken | C::AdminToken)
        | (
            RequiredAccess::Managers | RequiredAccess::ManagersInPerson,
            C::Person(Who::Member | Who::Approver | Who::Editor),
        )
        | (RequiredAccess::Editing, C::Person(Who::Member | Who::Approver)) => Some((403, "forbidden")),
        _ => None,
    }
}

struct Scene {
    site: Site,
    clients: Vec<(Caller, Client)>,
}

impl Scene {
    async fn new(setup: Setup) -> Self {
        let site = Site::with(setup).await;
        site.owner.lift_pending_limits().await;
        let app = &site.app;
        let bearer = |made: &Value| app.person(made["token"].as_str().unwrap()).client;
        let api_key = app.bootstrap["api_key"].as_str().unwrap();
        let mut clients = vec![
            (Caller::Nobody, app.anonymous()),
            (Caller::ApiKey, app.person(api_key).client.with("x-api-key", api_key)),
            (Caller::Agent, app.person(&site.agent.key).client),
            (Caller::Person(Who::Owner), site.owner.client.clone()),
            (Caller::ApproveToken, bearer(&token(&site.owner, "a", &["px:approve"]).await)),
            (Caller::AdminToken, bearer(&token(&site.owner, "b", &["px:admin"]).await)),
        ];
        for (who, email) in Who::ADDED {
            let role = if who == Who::Admin { "admin" } else { "member" };
            app.cli(&["user", "add", "--email", email, "--role", role]).await.expect(0);
            match who {
                Who::Approver => drop(app.cli(&["user", "grant", email, "api", "--approve"]).await.expect(0)),
                Who::Editor => drop(app.cli(&["user", "grant", email, "api", "--policy"]).await.expect(0)),
                Who::Owner | Who::Admin | Who::Member => {}
            }
            clients.push((Caller::Person(who), app.sign_in(email).await.client));
        }
        for email in Who::OTHERS {
            app.cli(&["user", "add", email, "--role", "admin"]).await.expect(0);
        }
        Self { site, clients }
    }
}

/// Every operation in the program's own description.
async fn operations(app: &App) -> Vec<(String, String)> {
    let document = app.anonymous().get("/openapi.json").send().await.expect(200).json();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "patch", "delete"] {
            if item[method].is_object() {
                found.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}

engines! {
    async fn every_route_lets_in_whom_it_should_and_nobody_else(setup: Setup) {
        let scene = Scene::new(setup).await;
        let mut checked = 0;
        for (method, route) in operations(&scene.site.app).await {
            let access = required_access(&method, &route);
            if access == RequiredAccess::Other {
                continue;
            }
            // About things that do not exist, so that nothing happens, but with an existing credential.
            let path = route
                .replace("{credential}", "api")
                .replace("{name}", "none")
                .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
                .replace("{txn_id}", "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11")
                .replace(['{', '}'], "");
            for (caller, client) in &scene.clients {
                let expected = refusal(access, *caller);
                // Admitted, these calls would affect all other callers; this test is about those who are refused.
                let disturbs = matches!(
                    (method.as_str(), route.as_str()),
                    ("DELETE", "/session" | "/admin/policies/{credential}")
                );
                if expected.is_none() && disturbs {
                    continue;
                }
                let answer = client.call(&method, &path).json(&json!({})).send().await;
                match expected {
                    Some((status, code)) => {
                        let got = (answer.status, answer.header("px-error").unwrap_or_default());
                        assert_eq!(got, (status, code), "{caller:?} {method} {route}: {}", answer.text());
                    }
                    None => assert!(
                        !matches!(answer.status, 401 | 403) && answer.status < 500,
                        "{caller:?} {method} {route}: {}", answer.text()
                    ),
                }
                checked += 1;
            }
        }
        assert!(checked > 1000, "{checked}");
    }
}

#[tokio::test]
async fn a_parameter_that_nobody_knows_changes_no_answer() {
    let scene = Scene::new(Setup::new()).await;
    let app = &scene.site.app;
    let mut checked = 0;
    for (method, route) in operations(app).await {
        // Streams never end.
        if method != "GET" || route.contains("/events") {
            continue;
        }
        let path = route
            .replace("{credential}", "api")
            .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
            .replace("{txn_id}", "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11")
            .replace("{address}", "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")
            .replace(['{', '}'], "");
        let status =
            async |query: &str| scene.site.owner.client.get(&format!("{path}{query}")).send().await.status;
        assert_eq!(status("?px_nobody_knows=1&px_other=").await, status("").await, "{route}");
        checked += 1;
    }
    assert!(checked > 60, "{checked}");
}

/// Performs the action on a new request. The policy written is the one in force.
async fn act(site: &Site, client: &Client, action: Action, path: &str, policy: &Value) -> HttpResponse {
    let txn = site.pause(path).await;
    let person = Person { client: client.clone() };
    match action {
        Action::Show => client.get(&format!("/approvals/{txn}")).send().await,
        Action::Approve => person.decide(&txn, "approve", &json!({})).await,
        Action::Grant | Action::DashboardGrant => {
            person.decide(&txn, "approve", &json!({"grant_seconds": 1800})).await
        }
        Action::Deny => person.decide(&txn, "deny", &json!({})).await,
        Action::Edit => client.put("/admin/policies/api", policy).send().await,
    }
}

/// The status, the code of a refusal or else the result, and true if a grant is open now.
fn response_summary(answer: &HttpResponse) -> (u16, String, bool) {
    let body = answer.json();
    let word = answer.header("px-error").or(body["status"].as_str()).unwrap_or_default();
    (answer.status, word.to_owned(), body["grant_id"].is_string())
}

/// The expected values of the same. The response to an applied policy is the policy.
fn expected(outcome: ActionOutcome) -> (u16, String, bool) {
    let (status, word) = match outcome {
        ActionOutcome::Shown | ActionOutcome::Counted => (200, "pending"),
        ActionOutcome::Approved | ActionOutcome::Granted => (200, "approved"),
        ActionOutcome::Denied => (200, "denied"),
        ActionOutcome::Applied => (200, ""),
        ActionOutcome::Staged => (202, "staged"),
        ActionOutcome::NotEligible => (403, "not_eligible"),
        ActionOutcome::PasskeyRequired => (412, "passkey_required"),
        ActionOutcome::NoGrant => (422, "invalid_field"),
        ActionOutcome::Forbidden => (403, "forbidden"),
    };
    (status, word.to_owned(), outcome == ActionOutcome::Granted)
}

engines! {
    async fn every_action_in_every_state_of_the_credential_asks_for_the_right_it_needs(setup: Setup) {
        let scene = Scene::new(setup).await;
        let owner = scene.site.app.bootstrap["owner_email"].as_str().unwrap();
        for terms in Terms::all() {
            let policy = terms.policy(owner);
            scene.site.policy(&policy).await;
            for (caller, client) in &scene.clients {
                for action in Action::ALL {
                    let Some(who) = caller.speaks_for(action) else { continue };
                    let path = format!("/{caller:?}/{action:?}/{terms}").replace(['(', ')'], "-");
                    let answer = act(&scene.site, client, action, &path, &policy).await;
                    let must = expected(outcome(who, action, terms));
                    assert_eq!(response_summary(&answer), must, "{path}: {}", answer.text());
                }
            }
        }
    }
}
