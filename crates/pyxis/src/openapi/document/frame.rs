//! Frame of the description: introduction, audiences with their areas, and ways to authenticate.

use serde_json::{Value, json};

const DESCRIPTION: &str = "An agent sends its request to `POST /forward` and names a stored credential and a target \
    URL. Pyxis attaches the secret, forwards the request and returns the response. If the policy requires approval, the \
    response is a 202 with a link for the approver and a URL to poll.\n\n\
    Who responded? A failure that Pyxis made has the header `PX-Error` and an RFC 9457 body with the same stable `code`. \
    An upstream's response never has it, because an upstream's own `PX-Error` is removed. A 202 from Pyxis has `PX-Txn`.\
    \n\n\
    Unknown members of a request body, unknown `X-PX-*` headers and repeated control headers are refused. Unknown query \
    parameters are ignored, on every path. A method that a path does not accept is 405 `method_not_allowed`. Clients \
    ignore unknown members of a response. Times are RFC 3339 in UTC; the unit of a duration is in its name. Secrets are \
    never returned; keys and tokens are shown once, when they are created.\n\n\
    The Stamps API responds to failures with `{\"detail\": …}` and without `PX-Error`, as its integrators expect.";

/// Readers of a part of the description.
struct Audience {
    name: &'static str,
    areas: &'static [Area],
}

/// A group of operations: its tag and its description.
type Area = (&'static str, &'static str);

const AUDIENCES: [Audience; 3] = [
    Audience {
        name: "Agents",
        areas: &[(
            "Agent",
            "Requests with stored credentials, signatures and their outcomes. The key goes in `X-PX-Key`.",
        )],
    },
    Audience {
        name: "Applications",
        areas: &[
            (
                "Stamps API",
                "Scores and Stamps of addresses, with an API key in `X-API-KEY`. Every response to a valid key has the \
                 state of its window in `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`; every request \
                 counts, including refused ones. Pages of any origin may send requests and read every response, \
                 including failures; give them a key that only reads.",
            ),
            (
                "Widget",
                "For pages: a holder signs in with the wallet and reads the own score. The publishable key goes in \
                 `X-API-KEY`, and the browser adds `Origin`, which the key must allow. Failures are `{\"detail\": …}`, \
                 most with a `code`.",
            ),
            (
                "Earlier paths",
                "The Stamps API in its earlier formats, with the same keys and limits. Can be switched off.",
            ),
            (
                "Verification",
                "Proofs of addresses. Open to anyone, from any origin. Failures are `{\"error\": …}`.",
            ),
        ],
    },
    Audience {
        name: "Managers and approvers",
        areas: &[
            ("Session", "Signing in with email and password."),
            ("Approvals", "Pending requests, and decisions about them."),
            ("Agents", "Agents, their keys and their limits. Managers only."),
            ("Credentials", "Stored secrets, their allowed hosts and how they are attached. Managers only."),
            (
                "Policies",
                "Rules of one credential: which requests pass, need approval or are denied. Managers only.",
            ),
            ("Tasks", "Lists of actions that an agent proposes and a person approves once."),
            ("Grants", "Temporary permissions that were opened with an approval. Managers only."),
            ("People", "Members of the workspace, their invitations and tokens. Managers only."),
            ("Webhooks", "Endpoints that receive events, and their deliveries. Managers only."),
            ("Scorers", "Weights and thresholds. Managers only."),
            ("API keys", "Keys of the Stamps API, their limits and their use. Managers only."),
            (
                "Issuers",
                "Trusted issuers, the catalogue of Stamps, and the Stamps of an address. Managers only.",
            ),
            (
                "Registry",
                "Networks, proofs, their issuers, and blocked addresses. Managers of the first workspace only.",
            ),
            ("Workspace", "Settings and the audit trail. Managers only."),
            ("Program", "Health, and this description."),
        ],
    },
];

/// The description without paths and components.
pub(super) fn frame(base_url: &str) -> Value {
    let areas = || AUDIENCES.iter().flat_map(|audience| audience.areas);
    let tags: Vec<Value> =
        areas().map(|(name, description)| json!({ "name": name, "description": description })).collect();
    let groups = AUDIENCES.iter().map(|audience| {
        let tags: Vec<&str> = audience.areas.iter().map(|(name, _)| *name).collect();
        json!({ "name": audience.name, "tags": tags })
    });
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Pyxis",
            "summary": "Scores of addresses, proofs of personhood, and a credential proxy for agents with human approval.",
            "description": DESCRIPTION,
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{ "url": base_url }],
        "tags": tags,
        "x-tagGroups": groups.collect::<Vec<_>>(),
        "components": { "securitySchemes": security_schemes() },
    })
}

fn security_schemes() -> Value {
    json!({
        "agentKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-PX-Key",
            "description": "The agent's key, shown once when the agent is created or its key is replaced.",
        },
        "agentBearer": { "type": "http", "scheme": "bearer", "description": "The agent's key, under `/p/`." },
        "apiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-KEY",
            "description": "A key of the Stamps API, shown once when it is created.",
        },
        "publishableKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-KEY",
            "description": "A publishable key, which may stand in pages of its origins.",
        },
        "widgetSession": {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of `POST /widget/v1/{scorer_id}/session`.",
        },
        "session": {
            "type": "http",
            "scheme": "bearer",
            "description": "A session token from `POST /session` or `pyxis bootstrap`: `Authorization: Bearer \
                <SESSION_TOKEN>`. Or a personal access token with the scope `px:admin`, and under `/approvals` with \
                `px:approve`. `/session` and `/admin/tokens` accept a session only.",
        },
    })
}
