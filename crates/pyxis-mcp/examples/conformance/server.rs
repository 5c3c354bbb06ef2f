//! The suite's tools, resources and prompts.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities,
    CompleteRequestParams, CompleteResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetTaskParams, GetTaskResult, Implementation, InputRequiredResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::input_required::{self, Attempt};
use super::subscriptions::Subscriptions;
use super::{client_requests, content, notifications, tasks};

/// The fixture. It keeps its tasks between messages, which Pyxis keeps in the database, and subscriptions of sessions.
#[derive(Clone, Default)]
pub(super) struct Fixture {
    tasks: TaskManager,
    subscriptions: Subscriptions,
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A result that is complete.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    read(result)
}

fn tool(name: &str, schema: &Value) -> Result<Tool, ErrorData> {
    read(json!({"name": name, "description": format!("The suite's {name}"), "inputSchema": schema}))
}

fn custom_header() -> Result<Tool, ErrorData> {
    let properties = json!({"value": {"type": "string", "x-mcp-header": "Value"}});
    tool("test_custom_header", &json!({"type": "object", "properties": properties, "required": ["value"]}))
}

/// A schema with the keywords of JSON Schema 2020-12.
fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"},
        }}},
        "properties": {
            "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"}, "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false,
    })
}

fn capabilities(context: &RequestContext<RoleServer>) -> Value {
    let declared: Option<ClientCapabilities> = context.client_capabilities();
    declared.and_then(|declared| serde_json::to_value(declared).ok()).unwrap_or_default()
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("pyxis-conformance", "1"))
    }

    /// Only a session can have subscriptions, and the newest version has none.
    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        if let Some(resources) = &mut info.capabilities.resources {
            resources.subscribe = None;
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == "test_custom_header").then(custom_header)?.ok()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let none = json!({"type": "object", "properties": {}});
        let simple = content::TOOLS
            .iter()
            .chain(&input_required::TOOLS)
            .chain(&notifications::TOOLS)
            .chain(&client_requests::TOOLS)
            .chain(&tasks::TOOLS)
            .chain(&["test_missing_capability"]);
        let mut tools: Vec<Tool> = simple.map(|name| tool(name, &none)).collect::<Result<_, _>>()?;
        tools.push(custom_header()?);
        tools.push(tool("json_schema_2020_12_tool", &json_schema())?);
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if notifications::TOOLS.contains(&&*request.name) {
            return notifications::call(&request.name, &context).await;
        }
        if client_requests::TOOLS.contains(&&*request.name) {
            return client_requests::call(&request, &context).await;
        }
        if tasks::TOOLS.contains(&&*request.name) {
            return tasks::call(&self.tasks, request, &context);
        }
        let capabilities = capabilities(&context);
        let name = &*request.name;
        if let Some(result) = content::tool(name) {
            return Ok(complete::<CallToolResult>(result)?.into());
        }
        let result = match name {
            "test_custom_header" => {
                let value = request.arguments.as_ref().and_then(|arguments| arguments.get("value")?.as_str());
                let value = value.ok_or_else(|| ErrorData::invalid_params("value must be a string", None))?;
                json!({"content": [content::text(value)]})
            }
            "test_missing_capability" if !capabilities["sampling"].is_object() => {
                let needed = read(json!({"sampling": {}}))?;
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_missing_capability" => json!({"content": [content::text("Declared")]}),
            name if input_required::TOOLS.contains(&name) => Attempt {
                name,
                responses: request.input_responses.as_ref(),
                state: request.request_state.as_deref(),
                capabilities: &capabilities,
            }
            .answer()?,
            _ => return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None)),
        };
        if result["resultType"] == "input_required" {
            return Ok(read::<InputRequiredResult>(result)?.into());
        }
        Ok(complete::<CallToolResult>(result)?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(read(content::resources())?))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = json!({"uriTemplate": "test://template/{id}/data", "name": "Dynamic Resource"});
        Ok(ListResourceTemplatesResult::with_all_items(read(json!([template]))?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || {
            let detail = format!("unknown resource: {}", request.uri);
            ErrorData::resource_not_found(detail, Some(json!({"uri": request.uri})))
        };
        let found = content::resource(&request.uri).ok_or_else(unknown)?;
        Ok(complete::<ReadResourceResult>(found)?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.add(&context, request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&context, request.uri)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(read(content::prompts())?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            let responses = request.input_responses.as_ref();
            let attempt = Attempt { name: &request.name, responses, state: None, capabilities: &Value::Null };
            let result = attempt.prompt();
            if result["resultType"] == "input_required" {
                return Ok(read::<InputRequiredResult>(result)?.into());
            }
            return Ok(complete::<GetPromptResult>(result)?.into());
        }
        let arguments = json!(request.arguments.unwrap_or_default());
        let found = content::prompt(&request.name, &arguments)
            .ok_or_else(|| ErrorData::invalid_params(format!("unknown prompt: {}", request.name), None))?;
        Ok(complete::<GetPromptResult>(found)?.into())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        complete(json!({"completion": {"values": ["1", "2", "3"], "total": 3, "hasMore": false}}))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Every message is sent with the call that it belongs to, so nothing is kept.
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}
