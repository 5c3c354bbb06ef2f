//! The tools: what a model reads about them. They are few, and no service adds one.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Instructions that a client may put into a model's context.
pub(crate) const INSTRUCTIONS: &str = "Pyxis sends requests with credentials that you never see. List what you may use \
    with `services`, then send requests with `call`. Some requests need a person's approval: the result then names a \
    page for your user, and `wait` returns the response after the decision. Text such as [REDACTED:name] stands for a \
    secret in a response.";

/// All tools, in a fixed order. Every call looks for its tool here.
pub(crate) static ALL: LazyLock<[Tool; 6]> =
    LazyLock::new(|| [services(), call(), propose_task(), wait(), withdraw(), explain()]);

fn services() -> Tool {
    let about = "List the credentials that you may use: their hosts, and per method whether a request is sent at once \
        (proceeds), needs a person's approval (pauses), or is denied.";
    tool("services", "List services", about, json!({}), &[]).with_annotations(reads("List services", false))
}

fn call() -> Tool {
    let about = "Send an HTTP request with a stored credential. Pyxis attaches the secret and returns the response. \
        If a person must approve the request, this waits for a while; then the result says how to go on. Sending the \
        same call again joins the pending request or returns its response.";
    let properties = json!({
        "credential": {"type": "string", "description": "Name of the credential, as `services` lists it."},
        "method": {
            "type": "string", "default": "GET",
            "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        },
        "url": {"type": "string", "description": "Full URL, including the query."},
        "headers": {
            "type": "object", "additionalProperties": {"type": "string"},
            "description": "Further headers. The credential's own headers are added by Pyxis.",
        },
        "body": {
            "type": ["string", "object", "array"],
            "description": "Body. An object or array is sent as JSON, a string as it is.",
        },
        "reason": {"type": "string", "maxLength": 1024, "description": "Why, in one sentence, for the approver."},
    });
    let title = "Send a request";
    let annotations = ToolAnnotations::with_title(title).read_only(false).destructive(true).open_world(true);
    tool("call", title, about, properties, &["credential", "url"])
        .with_annotations(annotations.idempotent(false))
}

fn propose_task() -> Tool {
    let about = "Propose a list of requests for one purpose, before you send them. A person approves it once, whole or \
        in part; then `call` sends covered requests without approval. The result names a page for your user.";
    let action = json!({
        "type": "object",
        "properties": {
            "credential": {"type": "string"},
            "method": {"type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
            "url": {
                "type": "string",
                "description": "URL without a query; `*` is one segment of its path, and all below it is covered.",
            },
            "content": {
                "type": "array",
                "maxItems": 8,
                "items": {"type": "string", "maxLength": 500},
                "description": "Conditions that each body meets, such as `json /amount <= 100`, `form amount <= 100` or \
                    `graphql mutation closeIssue`. Any other body asks as usual.",
            },
            "max_uses": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        "required": ["credential", "method", "url", "max_uses"],
        "additionalProperties": false,
    });
    let properties = json!({
        "purpose": {"type": "string", "maxLength": 500, "description": "Why, in one sentence, for the approver."},
        "actions": {"type": "array", "minItems": 1, "maxItems": 20, "items": action},
        "minutes": {"type": "integer", "minimum": 1, "maximum": 1440, "description": "Length of the task."},
    });
    let title = "Propose a task";
    let annotations =
        ToolAnnotations::with_title(title).read_only(false).destructive(false).open_world(false);
    tool("propose_task", title, about, properties, &["purpose", "actions", "minutes"])
        .with_annotations(annotations.idempotent(true))
}

fn wait() -> Tool {
    let about = "Wait for the decision on a pending request or a proposed task, for at most a minute. Returns the \
        target's response once it has arrived.";
    let title = "Wait for a decision";
    // An outcome counts as delivered, so that the same call again is a new request.
    let annotations =
        ToolAnnotations::with_title(title).read_only(false).destructive(false).open_world(false);
    tool("wait", title, about, transaction(), &["txn_id"]).with_annotations(annotations.idempotent(true))
}

fn withdraw() -> Tool {
    let about =
        "Withdraw a pending request or a proposed task, so that no one has to decide it. Nothing is sent.";
    let title = "Withdraw a request";
    let annotations =
        ToolAnnotations::with_title(title).read_only(false).destructive(false).open_world(false);
    tool("withdraw", title, about, transaction(), &["txn_id"]).with_annotations(annotations.idempotent(true))
}

fn explain() -> Tool {
    let about = "Say what would happen to a request, and which rule decides, without sending it.";
    let properties = json!({
        "credential": {"type": "string", "description": "Name of the credential, as `services` lists it."},
        "method": {
            "type": "string", "default": "GET",
            "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        },
        "url": {"type": "string", "description": "Full URL, including the query."},
        "headers": {
            "type": "object", "additionalProperties": {"type": "string"},
            "description": "Headers, as for `call`. Some rules read them.",
        },
        "body": {"type": ["string", "object", "array"], "description": "Body, as for `call`. Some rules read it."},
        "reason": {"type": "string", "maxLength": 1024, "description": "Why, as for `call`. Some policies require it."},
    });
    let title = "Explain a request";
    tool("explain", title, about, properties, &["credential", "url"]).with_annotations(reads(title, false))
}

fn transaction() -> Value {
    json!({"txn_id": {"type": "string", "description": "Transaction id of the pending request, or task_id of the proposed task."}})
}

/// Annotations of a tool that changes nothing.
fn reads(title: &str, open_world: bool) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).open_world(open_world)
}

fn tool(name: &'static str, title: &str, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Tool::new(name, about, Arc::new(schema)).with_title(title)
}
