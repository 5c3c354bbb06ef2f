//! The whole matrix: who × route, and who × action × state of the credential.
//! Spec 3, Approver eligibility, Policy editing; decisions, Admin API.

use serde_json::{Value, json};

use super::tokens::token;
use crate::support::{Answer, App, Client, Person, Setup, World, both_engines};

/// Somebody who may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Nobody,
    Agent,
    Owner,
    Admin,
    Member,
    /// A member with Approve and Policy on `api`.
    Granted,
    /// A member with Policy alone on `api`.
    Editor,
    /// An owner's token with `px:approve`.
    ApproveToken,
    /// An owner's token with `px:admin`.
    AdminToken,
}

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// Sessions and tokens with `px:approve`.
    Approving,
    /// Sessions and tokens with `px:admin`, of whatever role; the credential decides.
    Editing,
    /// Owners and admins: sessions and tokens with `px:admin`.
    Managers,
    /// Sessions only, of whatever role.
    Session,
    /// Not a matter of people.
    Other,
}

fn door(method: &str, path: &str) -> Door {
    match (method, path) {
        (_, path) if path.starts_with("/approvals") => Door::Approving,
        ("DELETE", "/session") => Door::Session,
        (_, path) if path.starts_with("/admin/tokens") => Door::Session,
        ("DELETE", "/admin/policies/{credential}") => Door::Managers,
        (_, path) if path.starts_with("/admin/policies/") => Door::Editing,
        (_, path) if path.starts_with("/admin/") => Door::Managers,
        _ => Door::Other,
    }
}

/// The status of a refusal; `None`: let in.
fn refusal(door: Door, who: Who) -> Option<(u16, &'static str)> {
    use Who as W;
    match (door, who) {
        (_, W::Nobody | W::Agent) => Some((401, "unauthenticated")),
        (Door::Approving, W::AdminToken) | (Door::Editing | Door::Managers, W::ApproveToken) => {
            Some((403, "insufficient_scope"))
        }
        // Names of nothing are 404 for members, too; of `api` they need the grant.
        (Door::Session, W::ApproveToken | W::AdminToken)
        | (Door::Managers, W::Member | W::Granted | W::Editor)
        | (Door::Editing, W::Member) => Some((403, "forbidden")),
        _ => None,
    }
}

struct Scene {
    world: World,
    clients: Vec<(Who, Client)>,
}

impl Scene {
    async fn new(setup: Setup) -> Self {
        let world = World::with(setup).await;
        let app = &world.app;
        for email in ["plain@people.example", "granted@people.example", "editor@people.example"] {
            app.cli(&["user", "add", "--email", email, "--role", "member"]).await.expect(0);
        }
        app.cli(&["user", "grant", "granted@people.example", "api", "--approve", "--policy"]).await.expect(0);
        app.cli(&["user", "grant", "editor@people.example", "api", "--policy"]).await.expect(0);
        let bearer = |made: &Value| app.person(made["token"].as_str().unwrap()).client;
        let clients = vec![
            (Who::Nobody, app.anonymous()),
            (Who::Agent, app.person(&world.agent.key).client),
            (Who::Owner, world.owner.client.clone()),
            (Who::Admin, app.admin("admin@people.example").await.client),
            (Who::Member, app.sign_in("plain@people.example").await.client),
            (Who::Granted, app.sign_in("granted@people.example").await.client),
            (Who::Editor, app.sign_in("editor@people.example").await.client),
            (Who::ApproveToken, bearer(&token(&world.owner, "a", &["px:approve"]).await)),
            (Who::AdminToken, bearer(&token(&world.owner, "b", &["px:admin"]).await)),
        ];
        Self { world, clients }
    }

    fn client(&self, who: Who) -> &Client {
        &self.clients.iter().find(|(one, _)| *one == who).unwrap().1
    }
}

/// Every operation of the program's own description.
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

both_engines! {
    async fn every_route_lets_in_whom_it_should_and_nobody_else(setup: Setup) {
        let scene = Scene::new(setup).await;
        let mut checked = 0;
        for (method, route) in operations(&scene.world.app).await {
            let door = door(&method, &route);
            if door == Door::Other {
                continue;
            }
            // Of things that are not there, so that nothing happens, but of a credential that is.
            let path = route
                .replace("{credential}", "api")
                .replace("{name}", "none")
                .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
                .replace("{txn_id}", "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11")
                .replace(['{', '}'], "");
            for (who, client) in &scene.clients {
                let expected = refusal(door, *who);
                // Whoever is let in may do these to everybody; here it is about who is not.
                let disturbs = matches!(
                    (method.as_str(), route.as_str()),
                    ("DELETE", "/session" | "/admin/policies/{credential}") | ("PUT", "/admin/policies/{credential}")
                );
                if expected.is_none() && disturbs {
                    continue;
                }
                let answer = client.call(&method, &path).json(&json!({})).send().await;
                match expected {
                    Some((status, code)) => {
                        let got = (answer.status, answer.header("px-error").unwrap_or_default());
                        assert_eq!(got, (status, code), "{who:?} {method} {route}: {}", answer.text());
                    }
                    None => assert!(
                        !matches!(answer.status, 401 | 403) && answer.status < 500,
                        "{who:?} {method} {route}: {}", answer.text()
                    ),
                }
                checked += 1;
            }
        }
        assert!(checked > 400, "{checked}");
    }
}

/// One state of the credential, as its policy has it.
struct State {
    /// Whether `allowed_approvers` is empty, lists everybody of the test, or somebody else.
    listed: Option<bool>,
    passkey: bool,
    min_approvals: u32,
}

/// All but the owner.
const EVERYBODY: [&str; 4] =
    ["admin@people.example", "plain@people.example", "granted@people.example", "editor@people.example"];

fn policy(state: &State, owner: &str) -> Value {
    let approvers = match state.listed {
        None => json!([]),
        Some(true) => json!([owner, EVERYBODY[0], EVERYBODY[1], EVERYBODY[2], EVERYBODY[3]]),
        Some(false) => json!(["nobody@people.example"]),
    };
    json!({
        "allowed_approvers": approvers,
        "passkey_required": state.passkey,
        "min_approvals": state.min_approvals,
    })
}

/// What each action must be answered. `eligible` is of the role and the grant alone.
fn expected(action: &str, eligible: bool, state: &State) -> (u16, &'static str) {
    if action == "show" {
        return if eligible { (200, "") } else { (403, "not_eligible") };
    }
    if !eligible || state.listed == Some(false) {
        return (403, "not_eligible");
    }
    match action {
        "deny" => (200, ""),
        _ if state.passkey => (412, "passkey_required"),
        "grant" if state.min_approvals > 1 => (422, "invalid_field"),
        _ => (200, ""),
    }
}

async fn act(person: &Person, action: &str, txn: &str) -> Answer {
    match action {
        "show" => person.client.get(&format!("/approvals/{txn}")).send().await,
        "approve" => person.decide(txn, "approve", &json!({})).await,
        "grant" => person.decide(txn, "approve", &json!({"grant_seconds": 1800})).await,
        _ => person.decide(txn, "deny", &json!({})).await,
    }
}

both_engines! {
    async fn every_action_in_every_state_of_the_credential_asks_for_the_right_it_needs(setup: Setup) {
        let scene = Scene::new(setup).await;
        let owner = scene.world.app.bootstrap["owner_email"].as_str().unwrap().to_owned();
        let people = [
            (Who::Owner, true),
            (Who::Admin, true),
            (Who::Member, false),
            (Who::Granted, true),
            (Who::Editor, false),
            (Who::ApproveToken, true),
        ];
        for listed in [None, Some(true), Some(false)] {
            for passkey in [false, true] {
                for min_approvals in [1, 2] {
                    let state = State { listed, passkey, min_approvals };
                    scene.world.policy(&policy(&state, &owner)).await;
                    for (who, eligible) in people {
                        for action in ["show", "approve", "grant", "deny"] {
                            let path = format!("/{who:?}/{action}/{listed:?}/{passkey}/{min_approvals}");
                            let txn = scene.world.pause(&path.replace(['(', ')'], "-")).await;
                            let person = Person { client: scene.client(who).clone() };
                            let answer = act(&person, action, &txn).await;
                            let got = (answer.status, answer.header("px-error").unwrap_or_default());
                            assert_eq!(got, expected(action, eligible, &state), "{path}: {}", answer.text());
                        }
                    }
                }
            }
        }
    }
}
