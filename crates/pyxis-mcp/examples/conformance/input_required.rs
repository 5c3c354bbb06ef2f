//! The suite's tools that ask for more input, with a sealed state.

use rmcp::ErrorData;
use rmcp::model::{InputResponses, RequestStateCodec};
use serde_json::{Map, Value, json};

use super::content::text;

/// Names of the tools that ask for input.
pub(super) const TOOLS: [&str; 9] = [
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

/// One attempt at a call.
pub(super) struct Attempt<'a> {
    pub(super) name: &'a str,
    pub(super) responses: Option<&'a InputResponses>,
    pub(super) state: Option<&'a str>,
    /// Capabilities of the client.
    pub(super) capabilities: &'a Value,
}

fn codec() -> RequestStateCodec {
    RequestStateCodec::new_unchecked(b"a fixed key of the fixture, never used by a real server".to_vec())
}

fn name_request() -> Value {
    elicitation("What is your name?", "name", "string")
}

fn elicitation(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": {field: {"type": kind}}, "required": [field],
    }}})
}

fn sampling(prompt: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100,
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn input_required(requests: &Value, state: Option<&Value>) -> Value {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(sealed) = state.and_then(|state| codec().seal_json(state).ok()) {
        result["requestState"] = json!(sealed);
    }
    result
}

fn done(said: &str) -> Value {
    json!({"content": [text(said)], "isError": false})
}

impl Attempt<'_> {
    /// A usable response; anything but an object counts as missing.
    fn response(&self, name: &str) -> Option<&Map<String, Value>> {
        self.responses?.get(name)?.as_object()
    }

    fn state(&self) -> Result<Option<Value>, ErrorData> {
        let open = |sealed| codec().open_json(sealed);
        let opened = self.state.map(open).transpose();
        opened.map_err(|_| ErrorData::invalid_params("requestState was changed", None))
    }

    /// Answers the prompt that asks for input.
    pub(super) fn prompt(&self) -> Value {
        match self.response("user_context") {
            Some(response) => {
                let context = response.get("content").map(|content| content["context"].to_string());
                let said = format!("Prompt with elicited context: {}", context.unwrap_or_default());
                json!({"messages": [{"role": "user", "content": text(&said)}]})
            }
            None => input_required(
                &json!({"user_context": elicitation("Which context?", "context", "string")}),
                None,
            ),
        }
    }

    /// Answers a tool that asks for input.
    pub(super) fn answer(&self) -> Result<Value, ErrorData> {
        let state = self.state()?;
        let simple = |name: &str, request: Value| match self.response(name) {
            Some(response) => done(&format!("Received {}", json!(response))),
            None => input_required(&json!({name: request}), None),
        };
        Ok(match self.name {
            "test_input_required_result_elicitation" => simple("user_name", name_request()),
            "test_streaming_elicitation" => simple("value", elicitation("A value?", "value", "string")),
            "test_input_required_result_sampling" => {
                simple("capital_question", sampling("What is the capital of France?"))
            }
            "test_input_required_result_list_roots" => simple("client_roots", roots()),
            "test_input_required_result_multiple_inputs" => {
                let names = ["user_name", "greeting", "client_roots"];
                if state.is_some() && names.iter().all(|name| self.response(name).is_some()) {
                    done("All inputs received")
                } else {
                    let requests = json!({
                        "user_name": name_request(), "greeting": sampling("Generate a greeting"),
                        "client_roots": roots(),
                    });
                    input_required(&requests, Some(&json!({"stage": "gather"})))
                }
            }
            "test_input_required_result_multi_round" => {
                match state.map_or(0, |state| state["round"].as_i64().unwrap_or(0)) {
                    0 => input_required(&json!({"step1": name_request()}), Some(&json!({"round": 1}))),
                    1 => {
                        let color = elicitation("What is your favorite color?", "color", "string");
                        input_required(&json!({"step2": color}), Some(&json!({"round": 2})))
                    }
                    _ => done("Multi-round flow complete"),
                }
            }
            "test_input_required_result_capabilities" => self.capabilities(),
            _ if state.is_some() => done("Confirmed: state-ok"),
            _ => {
                let confirm = elicitation("Please confirm", "ok", "boolean");
                input_required(&json!({"confirm": confirm}), Some(&json!({"stage": "confirm"})))
            }
        })
    }

    /// Asks only for what the client can give.
    fn capabilities(&self) -> Value {
        if self.responses.is_some() {
            return done("Capability-aware flow complete");
        }
        let mut requests = Map::new();
        let mut offer = |capability: &str, name: &str, request: Value| {
            if self.capabilities[capability].is_object() {
                requests.insert(name.to_owned(), request);
            }
        };
        offer("elicitation", "user_name", name_request());
        offer("sampling", "greeting", sampling("Generate a greeting"));
        offer("roots", "client_roots", roots());
        if requests.is_empty() {
            done("No input possible")
        } else {
            input_required(&Value::Object(requests), None)
        }
    }
}
