//! The suite's tools that send notifications before their result: the response to the one request is then a stream.

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

/// Names of the tools.
pub(super) const TOOLS: [&str; 2] = ["test_tool_with_progress", "test_tool_with_logging"];

/// Answers one of them.
pub(super) async fn call(
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let sent = match (name, context.meta.get_progress_token()) {
        ("test_tool_with_logging", _) => log(context).await,
        (_, Some(token)) => progress(context, &token).await,
        (_, None) => Ok(()),
    };
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(CallToolResult::success(vec![ContentBlock::text("Notifications sent")]).into())
}

async fn progress(context: &RequestContext<RoleServer>, token: &ProgressToken) -> Result<(), ServiceError> {
    for step in [0.0, 50.0, 100.0] {
        let progress = ProgressNotificationParam::new(token.clone(), step).with_total(100.0);
        context.peer.notify_progress(progress).await?;
    }
    Ok(())
}

async fn log(context: &RequestContext<RoleServer>) -> Result<(), ServiceError> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
        context.peer.notify_logging_message(message).await?;
    }
    Ok(())
}
