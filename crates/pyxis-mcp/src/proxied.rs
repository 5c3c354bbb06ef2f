//! Tools of other MCP servers: their definitions in the list, a call as a request, and an answer as a result.
//!
//! Definitions and answers are text of strangers. They are bounded, and nothing in them is acted on here.

use std::collections::BTreeMap;

use pyxis_gateway::agent_tools::{OfferedTool, ToolTarget, message};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};

use crate::arguments::Call;
use crate::long_responses::{MAX_INLINE, Rest};

/// Largest image, sound or embedded resource in a result, in bytes of JSON.
const MAX_MEDIA: usize = 1024 * 1024;
/// Blocks in a result.
const MAX_BLOCKS: usize = 64;

/// Definitions for the list, under the names that agents call.
pub(crate) fn definitions(offered: Vec<OfferedTool>) -> impl Iterator<Item = Tool> {
    offered.into_iter().filter_map(|OfferedTool { name, mut definition }| {
        definition["name"] = json!(name);
        // A call that waits for a person has a result of another form.
        definition.as_object_mut()?.remove("outputSchema");
        without_mirrored_headers(&mut definition["inputSchema"]);
        serde_json::from_value(definition).ok()
    })
}

/// Removes the marks by which a client would repeat arguments in headers, which end at Pyxis.
fn without_mirrored_headers(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove("x-mcp-header");
            members.values_mut().for_each(without_mirrored_headers);
        }
        Value::Array(items) => items.iter_mut().for_each(without_mirrored_headers),
        _ => {}
    }
}

/// The request that calls a tool.
pub(crate) fn call(target: ToolTarget, arguments: Option<JsonObject>) -> Call {
    let params = json!({ "name": target.tool, "arguments": arguments.unwrap_or_default() });
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-method", "tools/call"),
        ("mcp-name", &target.tool),
        ("user-agent", "pyxis"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Call {
        credential: target.credential,
        method: "POST".to_owned(),
        url: target.url,
        headers: BTreeMap::from(headers),
        body: message::request("tools/call", params).to_string().into_bytes(),
        reason: None,
        tool: Some(target.tool),
    }
}

/// The result in a server's answer. `rest` is the place of the whole answer, if it is long.
pub(crate) fn result(answer: &Value, rest: Option<&Rest>) -> CallToolResult {
    if let Some(error) = answer.get("error").filter(|error| error.is_object()) {
        let said: String = error["message"].as_str().unwrap_or("no message").chars().take(1000).collect();
        return failure(format!("the MCP server refused the call: {said} (code {})", error["code"]));
    }
    let mut result = answer["result"].clone();
    if result["resultType"].as_str().is_some_and(|kind| kind != "complete") {
        return failure("the MCP server asks for more input, which Pyxis does not pass on");
    }
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
        members.entry("content").or_insert_with(|| json!([]));
    }
    match serde_json::from_value(result) {
        Ok(result) => bounded(result, rest),
        Err(error) => failure(format!("the MCP server's result cannot be read: {error}")),
    }
}

/// A result that fits into a model's context.
fn bounded(result: CallToolResult, rest: Option<&Rest>) -> CallToolResult {
    let (mut room, mut is_cut) = (MAX_INLINE, result.content.len() > MAX_BLOCKS);
    let mut content = Vec::new();
    for block in result.content.into_iter().take(MAX_BLOCKS) {
        match block {
            ContentBlock::Text(mut text) => {
                if text.text.len() > room {
                    text.text.truncate(text.text.floor_char_boundary(room));
                    is_cut = true;
                }
                room -= text.text.len();
                content.push(ContentBlock::Text(text));
            }
            // Pyxis serves no resources of other servers.
            ContentBlock::ResourceLink(link) => {
                content.push(ContentBlock::text(format!("(resource on the MCP server: {})", link.uri)));
            }
            media if length(&media) <= MAX_MEDIA => content.push(media),
            _ => is_cut = true,
        }
    }
    let structured = result.structured_content.filter(|data| {
        let fits = length(data) <= MAX_INLINE;
        is_cut |= !fits;
        fits
    });
    if is_cut {
        content.push(ContentBlock::text("(shortened; the whole answer is longer)"));
        content.extend(rest.map(|rest| ContentBlock::resource_link(rest.link(Some("application/json")))));
    }
    let is_error = result.is_error == Some(true);
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured;
    result
}

fn failure(detail: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(detail)])
}

fn length(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: &Value) -> Value {
        let rest = Rest { id: "i".to_owned(), length: 9 };
        serde_json::to_value(super::result(&json!({ "result": result }), Some(&rest))).unwrap()
    }

    #[test]
    fn a_result_is_passed_on_without_what_only_its_server_understands() {
        let passed = read(&json!({
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "aaaa", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///x", "name": "x"},
            ],
            "structuredContent": {"n": 1}, "isError": true, "_meta": {"x": 1},
        }));
        assert_eq!((&passed["isError"], &passed["structuredContent"]), (&json!(true), &json!({"n": 1})));
        assert_eq!(passed["content"][1]["type"], "image");
        assert_eq!(passed["content"][2]["text"], "(resource on the MCP server: file:///x)");
        assert!(passed["_meta"].is_null());
    }

    #[test]
    fn a_long_result_is_shortened_and_names_the_whole_answer() {
        let long = read(&json!({
            "content": [{"type": "text", "text": "ä".repeat(50_000)}, {"type": "text", "text": "more"}],
            "structuredContent": {"x": "y".repeat(MAX_INLINE)},
        }));
        assert!(long["content"][0]["text"].as_str().unwrap().len() <= MAX_INLINE);
        assert_eq!(long["content"][3]["type"], "resource_link");
        assert!(long["structuredContent"].is_null());
    }

    #[test]
    fn a_refusal_and_what_is_no_result_are_errors_that_the_model_reads() {
        let refused = super::result(&json!({"error": {"code": -32602, "message": "no such tool"}}), None);
        let refused = serde_json::to_value(refused).unwrap();
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("no such tool (code -32602)"));
        for strange in [json!({"resultType": "input_required"}), json!({"content": "x"})] {
            assert_eq!(read(&strange)["isError"], true, "{strange}");
        }
    }

    #[test]
    fn a_definition_gets_its_name_and_loses_what_ends_at_pyxis() {
        let schema = json!({"type": "object", "properties": {"q": {"type": "string", "x-mcp-header": "Q"}}});
        let definition = json!({"name": "t", "inputSchema": schema, "outputSchema": {"type": "object"}});
        let offered = OfferedTool { name: "docs__t".to_owned(), definition };
        let [tool] = definitions(vec![offered]).collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((&*tool.name, &tool.output_schema), ("docs__t", &None));
        assert!(!serde_json::to_string(&tool).unwrap().contains("x-mcp-header"));
    }
}
