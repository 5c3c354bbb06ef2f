//! The suite's tools that need a session: they ask the client during a call, or leave the stream of the call.

use std::time::Duration;

use pyxis_mcp::ResponseStream;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerRequest};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

/// Names of the tools.
pub(super) const TOOLS: [&str; 5] = [
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
];

/// Time that a client has to come back for the rest of a stream.
const AWAY: Duration = Duration::from_secs(1);

/// Answers one of them.
pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let stream = ResponseStream::from_context(context)
        .ok_or_else(|| ErrorData::invalid_request("this tool needs a session", None))?;
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name)?.as_str());
        value.unwrap_or_default().to_owned()
    };
    let said = match &*request.name {
        "test_reconnection" => {
            stream.close();
            tokio::time::sleep(AWAY).await;
            "Reconnection test completed".to_owned()
        }
        "test_sampling" => {
            let response = send(context, sampling(&argument("prompt"))).await?;
            format!("LLM response: {}", response["content"]["text"].as_str().unwrap_or_default())
        }
        "test_elicitation" => {
            let form = elicitation(&argument("message"), &contact_form(), &json!(["username", "email"]));
            format!("User response: {}", send(context, form).await?)
        }
        name => {
            let fields = if name.ends_with("defaults") { form_with_defaults() } else { form_with_choices() };
            let form = elicitation("Please fill in the form", &fields, &json!([]));
            let response = send(context, form).await?;
            format!("Elicitation completed: action={}, content={}", response["action"], response["content"])
        }
    };
    Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
}

/// Sends a request to the client, on the stream of the call, and waits for the response.
async fn send(context: &RequestContext<RoleServer>, request: Value) -> Result<Value, ErrorData> {
    let failed = |error: String| ErrorData::internal_error(error, None);
    let request: ServerRequest =
        serde_json::from_value(request).map_err(|error| failed(error.to_string()))?;
    let response = context.peer.send_request(request).await.map_err(|error| failed(error.to_string()))?;
    serde_json::to_value(response).map_err(|error| failed(error.to_string()))
}

fn sampling(prompt: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100,
    }})
}

fn elicitation(message: &str, properties: &Value, required: &Value) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": {
        "type": "object", "properties": properties, "required": required,
    }}})
}

fn contact_form() -> Value {
    json!({
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    })
}

fn form_with_defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn form_with_choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([
        {"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}
