//! The suite's tools that become tasks.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult, InputRequest, InputRequiredResult, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

/// Names of the tools.
pub(super) const TOOLS: [&str; 7] = [
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

/// Answers one of them, at once or with a task.
pub(super) fn call(
    tasks: &TaskManager,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let can_wait = context.client_capabilities().is_some_and(|client| client.supports_tasks());
    if request.name == "greet" {
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or("nobody");
        return Ok(text_result(&format!("Hello, {name}!")).into());
    }
    if request.name == "slow_compute" && !can_wait {
        return Ok(text_result("computed").into());
    }
    if !can_wait {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    let mut answer = Value::Null;
    if request.name == "test_tool_with_task" {
        let given = request.input_responses.as_ref().and_then(|responses| responses.get("user_name"));
        match given {
            Some(given) => answer = json!(given),
            None => return Ok(ask_name()?.into()),
        }
    }
    let name = request.name.into_owned();
    let make = |context: TaskContext| -> TaskFuture { Box::pin(run(name, arguments, answer, context)) };
    let options = TaskOptions::new().with_poll_interval_ms(100);
    Ok(CallToolResponse::Task(CreateTaskResult::new(tasks.spawn(options, make))))
}

fn text_result(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The work of a task.
async fn run(
    name: String,
    arguments: JsonObject,
    answer: Value,
    context: TaskContext,
) -> Result<CallToolResult, TaskExit> {
    match name.as_str() {
        "slow_compute" => {
            let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or_default();
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(text_result("computed")),
                () = context.cancelled() => Err(TaskExit::Cancelled),
            }
        }
        "failing_job" => Ok(CallToolResult::error(vec![ContentBlock::text("The job failed")])),
        "protocol_error_job" => Err(ErrorData::internal_error("The job ended early", None).into()),
        "confirm_delete" => {
            let confirmed = context.request_input("confirm", question("Delete it?", "confirm")?).await?;
            Ok(text_result(&format!("Answered {confirmed}")))
        }
        "multi_input" => {
            let (name, confirm) = (question("Your name?", "name")?, question("Really?", "confirm")?);
            let (name, confirm) = tokio::try_join!(
                context.request_input("name", name),
                context.request_input("confirm", confirm)
            )?;
            Ok(text_result(&format!("Answered {name} and {confirm}")))
        }
        _ => Ok(text_result(&format!("Answered {answer}"))),
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn question_json(message: &str, field: &str) -> Value {
    let schema = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": schema,
    }})
}

fn question(message: &str, field: &str) -> Result<InputRequest, ErrorData> {
    read(question_json(message, field))
}

fn ask_name() -> Result<InputRequiredResult, ErrorData> {
    let requests = json!({"user_name": question_json("What is your name?", "name")});
    read(json!({"resultType": "input_required", "inputRequests": requests}))
}
