//! The server: what each method of the protocol does.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use http::{Response, StatusCode};
use pyxis_gateway::ClientPresence;
use pyxis_gateway::approvals::delivery::{self, TransactionTimes};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CreateTaskResult, CustomRequest, CustomResult, ErrorCode, GetTaskParams, GetTaskResult, Implementation,
    JsonObject, ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
    UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::Value;

use crate::agent_requests::AgentRequests;
use crate::answer::{self, ForwardOutcome, PendingApproval, ProxyResponse};
use crate::approval_page;
use crate::arguments::{self, Call, Nothing, TransactionArguments};
use crate::caller::McpCaller;
use crate::client_info::{ClientInfo, VERSIONS};
use crate::long_responses::{self, LongResponses};
use crate::message_form::{self, BadParameters};
use crate::pending::{self, RequestStateSigner};
use crate::response_stream::ResponseStream;
use crate::{proposed_task, proxied, task, tools};

/// The server. It keeps no state between messages, so any node may answer any of them. A session only adds requests to
/// the client during a call.
#[derive(Clone)]
pub(crate) struct McpServer {
    pub(crate) requests: AgentRequests,
    signer: RequestStateSigner,
    long: LongResponses,
}

pub(crate) type ToolResult = Result<CallToolResponse, ErrorData>;

impl McpServer {
    pub(crate) fn new(requests: AgentRequests) -> Self {
        let signer = RequestStateSigner::new(&requests.gateway);
        let long = LongResponses::new(requests.gateway.clone());
        Self { requests, signer, long }
    }

    /// Seconds to wait for a decision.
    fn patience(&self) -> u64 {
        self.requests.gateway.config.mcp_wait.as_secs()
    }

    async fn services(&self, caller: &McpCaller) -> ToolResult {
        let response = self.requests.services(caller).await.map_err(internal)?;
        let (head, body) = response.into_parts();
        let value = answer::read_json(body).await;
        if !head.status.is_success() {
            return Ok(answer::refusal(&head, &value).into());
        }
        Ok(CallToolResult::structured(value).into())
    }

    /// Uses a stored credential, or goes on waiting for the request that `state` names.
    async fn call(
        &self,
        client: &ClientInfo,
        caller: &McpCaller,
        arguments: Option<JsonObject>,
        state: Option<&str>,
    ) -> ToolResult {
        match Call::read("call", arguments) {
            Ok(call) => self.send(client, caller, &call, state).await,
            Err(error) => Ok(answer::bad_argument(&error).into()),
        }
    }

    /// Calls a tool of another MCP server.
    async fn proxied(
        &self,
        client: &ClientInfo,
        caller: &McpCaller,
        request: CallToolRequestParams,
    ) -> ToolResult {
        let target = match self.requests.tool_target(caller, &request.name).await {
            Ok(target) => target,
            Err(error) if matches!(error.code(), "not_found" | "credential_not_found") => {
                return Err(unknown_tool(&request.name));
            }
            Err(error) => return Ok(answer::of_error(error).await.into()),
        };
        let call = proxied::call(target, request.arguments);
        self.send(client, caller, &call, request.request_state.as_deref()).await
    }

    /// Sends a request, or goes on waiting for the one that `state` names.
    async fn send(
        &self,
        client: &ClientInfo,
        caller: &McpCaller,
        call: &Call,
        state: Option<&str>,
    ) -> ToolResult {
        let answer = match state {
            None => self.forward(client, caller, call).await?.into(),
            Some(state) => match self.signer.verified(caller, call, state, self.requests.gateway.now()) {
                Ok(txn) => self.poll(caller, &txn).await?,
                Err(error) => return Err(ErrorData::invalid_params(error, None)),
            },
        };
        match (answer, &client.page_opener) {
            // A client that was asked has seen the page.
            (ProxyResponse::Pending(waiting), _) if state.is_some() => {
                Ok(pending::text(&self.requests.gateway.config, &waiting).into())
            }
            (ProxyResponse::Pending(waiting), Some(opener)) => {
                self.wait_at_page(opener, caller, &waiting).await
            }
            (answer, _) => self.respond(client, caller, call, answer).await,
        }
    }

    /// Asks the client to open the approval page, and holds the call meanwhile. Only the page decides.
    async fn wait_at_page(
        &self,
        opener: &Peer<RoleServer>,
        caller: &McpCaller,
        waiting: &PendingApproval,
    ) -> ToolResult {
        let config = &self.requests.gateway.config;
        // One that is being sent needs no page.
        if waiting.status == "pending" {
            approval_page::open(config, opener, waiting).await;
        }
        Ok(match self.poll(caller, &waiting.txn_id).await? {
            ProxyResponse::Final(result) => result.into(),
            ProxyResponse::Pending(waiting) => pending::text(config, &waiting).into(),
        })
    }

    /// Sends a request, held for a while if a person must decide.
    pub(crate) async fn forward(
        &self,
        client: &ClientInfo,
        caller: &McpCaller,
        call: &Call,
    ) -> Result<ForwardOutcome, ErrorData> {
        let name = client.name.as_deref();
        // A client that opens pages is asked to before the call is held.
        let is_held = client.page_opener.is_none();
        let wait = if is_held { self.requests.gateway.config.mcp_wait } else { Duration::ZERO };
        let sent = self.requests.forward(caller, name, call, wait).await.map_err(internal)?;
        Ok(answer::of_forward(sent, &self.long, &caller.agent, call.tool.is_some()).await)
    }

    /// The result of a call, in the way that its client understands.
    pub(crate) async fn respond(
        &self,
        client: &ClientInfo,
        caller: &McpCaller,
        call: &Call,
        answer: ProxyResponse,
    ) -> ToolResult {
        let waiting = match answer {
            ProxyResponse::Final(result) => return Ok(result.into()),
            ProxyResponse::Pending(waiting) => waiting,
        };
        let gateway = &self.requests.gateway;
        if client.abilities.tasks {
            let times = self.transaction_times(caller, &waiting.txn_id).await?;
            let task = task::from_pending(&gateway.config, gateway.now(), &waiting, times);
            return Ok(CallToolResponse::Task(CreateTaskResult::new(task)));
        }
        let signer = client.abilities.pages.then_some(&self.signer);
        Ok(pending::respond(&gateway.config, gateway.now(), signer, caller, call, &waiting))
    }

    async fn wait(&self, caller: &McpCaller, arguments: Option<JsonObject>) -> ToolResult {
        let TransactionArguments { txn_id } = match arguments::read("wait", arguments) {
            Ok(transaction) => transaction,
            Err(error) => return Ok(answer::bad_argument(&error).into()),
        };
        let response = self.requests.poll(caller, &txn_id, self.patience()).await.map_err(internal)?;
        if response.status() == StatusCode::NOT_FOUND {
            // The id may be that of a proposed task.
            let task = self.requests.task(caller, &txn_id, self.patience()).await.map_err(internal)?;
            if task.status().is_success() {
                return Ok(proposed_task::result(answer::read_json(task.into_body()).await).into());
            }
        }
        Ok(match self.deliver(caller, &txn_id, response).await? {
            ProxyResponse::Final(result) => result.into(),
            ProxyResponse::Pending(waiting) => pending::text(&self.requests.gateway.config, &waiting).into(),
        })
    }

    /// Proposes a task. Its arguments are the body of the request.
    async fn propose_task(&self, caller: &McpCaller, arguments: Option<JsonObject>) -> ToolResult {
        let proposal = Value::Object(arguments.unwrap_or_default()).to_string();
        let response = self.requests.propose_task(caller, proposal).await.map_err(internal)?;
        let (head, body) = response.into_parts();
        let value = answer::read_json(body).await;
        if !head.status.is_success() {
            return Ok(answer::refusal(&head, &value).into());
        }
        Ok(proposed_task::result(value).into())
    }

    /// Waits for an outcome, which is delivered once it is there.
    async fn poll(&self, caller: &McpCaller, txn_id: &str) -> Result<ProxyResponse, ErrorData> {
        let response = self.requests.poll(caller, txn_id, self.patience()).await.map_err(internal)?;
        self.deliver(caller, txn_id, response).await
    }

    /// The present outcome of a task. A failure of the server is no outcome, and ends no task.
    async fn poll_task(&self, caller: &McpCaller, id: &str) -> Result<Response<Body>, ErrorData> {
        let response = self.requests.poll(caller, id, 0).await.map_err(internal)?;
        match response.status() {
            StatusCode::NOT_FOUND => Err(unknown_task(id)),
            status if status.is_success() => Ok(response),
            status => Err(internal(status)),
        }
    }

    /// Reads an outcome. If it is final and the client is still here, it counts as delivered; the transaction of another
    /// agent stays as it is.
    async fn deliver(
        &self,
        caller: &McpCaller,
        txn_id: &str,
        response: Response<Body>,
    ) -> Result<ProxyResponse, ErrorData> {
        let is_own = response.status().is_success();
        let answer = answer::of_poll(response).await;
        let is_here = !caller.presence.has_left();
        if is_own
            && is_here
            && let (ProxyResponse::Final(_), Ok(txn)) = (&answer, txn_id.parse())
        {
            let store = &self.requests.gateway.store;
            delivery::delivered(store, caller.agent.workspace, txn).await.map_err(internal)?;
        }
        match answer {
            ProxyResponse::Final(result) if answer::is_expired(&result) => {
                let times = self.transaction_times(caller, txn_id).await?;
                let is_withdrawn = times.is_some_and(|times| times.withdrawn);
                Ok(ProxyResponse::Final(if is_withdrawn { answer::withdrawn() } else { result }))
            }
            answer => Ok(answer),
        }
    }

    /// Times of a transaction of this agent.
    async fn transaction_times(
        &self,
        caller: &McpCaller,
        txn_id: &str,
    ) -> Result<Option<TransactionTimes>, ErrorData> {
        let Ok(txn) = txn_id.parse() else { return Ok(None) };
        let (store, agent) = (&self.requests.gateway.store, &caller.agent);
        delivery::transaction_times(store, agent.workspace, agent.id, txn).await.map_err(internal)
    }

    async fn withdraw(&self, caller: &McpCaller, arguments: Option<JsonObject>) -> ToolResult {
        let TransactionArguments { txn_id } = match arguments::read("withdraw", arguments) {
            Ok(transaction) => transaction,
            Err(error) => return Ok(answer::bad_argument(&error).into()),
        };
        let mut response = self.requests.withdraw(caller, &txn_id).await.map_err(internal)?;
        if response.status() == StatusCode::NOT_FOUND {
            let task = self.requests.withdraw_task(caller, &txn_id).await.map_err(internal)?;
            if task.status() != StatusCode::NOT_FOUND {
                response = task;
            }
        }
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(
                CallToolResult::success(vec![ContentBlock::text("Withdrawn. Nothing was sent.")]).into()
            );
        }
        Ok(answer::refusal(&head, &answer::read_json(body).await).into())
    }

    async fn explain(&self, caller: &McpCaller, arguments: Option<JsonObject>) -> ToolResult {
        let call = match Call::read("explain", arguments) {
            Ok(call) => call,
            Err(error) => return Ok(answer::bad_argument(&error).into()),
        };
        Ok(match self.requests.explain(caller, &call).await {
            Ok(explanation) => {
                CallToolResult::structured(serde_json::to_value(explanation).map_err(internal)?).into()
            }
            Err(error) => answer::of_error(error).await.into(),
        })
    }
}

impl McpServer {
    async fn use_tool(
        &self,
        request: CallToolRequestParams,
        caller: &McpCaller,
        context: &RequestContext<RoleServer>,
    ) -> ToolResult {
        match &*request.name {
            "services" => match arguments::read::<Nothing>("services", request.arguments) {
                Ok(Nothing {}) => self.services(caller).await,
                Err(error) => Ok(answer::bad_argument(&error).into()),
            },
            "call" => {
                let state = request.request_state.as_deref();
                self.call(&ClientInfo::from_context(context), caller, request.arguments, state).await
            }
            "propose_task" => self.propose_task(caller, request.arguments).await,
            "wait" => self.wait(caller, request.arguments).await,
            "withdraw" => self.withdraw(caller, request.arguments).await,
            "explain" => self.explain(caller, request.arguments).await,
            _ => Box::pin(self.proxied(&ClientInfo::from_context(context), caller, request)).await,
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build();
        let server = Implementation::new("pyxis", env!("CARGO_PKG_VERSION")).with_title("Pyxis");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(tools::INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::ALL.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = self.requests.offered_tools(&caller(&context)?).await.map_err(internal)?;
        let mut listed = ListToolsResult::with_all_items(
            tools::ALL.iter().cloned().chain(proxied::definitions(offered)).collect(),
        );
        // Every agent has its own list.
        listed.cache_scope = Some(CacheScope::Private);
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> ToolResult {
        let (leave, presence) = ClientPresence::watched();
        let caller = McpCaller { presence, ..caller(&context)? };
        let watching = async {
            abandoned(&context).await;
            leave.send_replace(true);
            std::future::pending().await
        };
        tokio::select! {
            // First, so that no outcome is delivered to a client that is known to have left.
            biased;
            result = watching => result,
            result = self.use_tool(request, &caller, &context) => result,
        }
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(long_responses::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = caller(&context)?;
        Ok(self.long.read(&caller.agent, &request.uri).await?.into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = caller(&context)?;
        let response = self.poll_task(&caller, &request.task_id).await?;
        let answer = self.deliver(&caller, &request.task_id, response).await?;
        let times = self.transaction_times(&caller, &request.task_id).await?;
        Ok(GetTaskResult::new(task::detailed(
            &self.requests.gateway.config,
            self.requests.gateway.now(),
            &request.task_id,
            answer,
            times,
        )))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Tasks never ask for input: only a person on the approval page decides.
        self.poll_task(&caller(&context)?, &request.task_id).await.map(drop)
    }

    /// A method that the SDK does not know, or one whose parameters it cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        let Some(form) = message_form::parameters_of(&method) else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        };
        BadParameters::record(&context);
        Err(ErrorData::invalid_params(format!("{method}: params must be {form}"), None))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = caller(&context)?;
        let response = self.requests.withdraw(&caller, &request.task_id).await.map_err(internal)?;
        match response.status() {
            StatusCode::NOT_FOUND => Err(unknown_task(&request.task_id)),
            // A task that has ended stays as it is.
            status if status.is_success() || status == StatusCode::CONFLICT => Ok(()),
            status => Err(internal(status)),
        }
    }
}

fn unknown_task(id: &str) -> ErrorData {
    let id: String = id.chars().take(200).collect();
    ErrorData::invalid_params(format!("unknown task: {id}"), None)
}

fn unknown_tool(name: &str) -> ErrorData {
    let name: String = name.chars().take(200).collect();
    ErrorData::invalid_params(format!("unknown tool: {name}"), None)
}

/// Resolves if the client no longer waits for the result: it canceled the call, or left. What a person decides from
/// then on is kept for the same call. A request that needs no person is sent to its end.
async fn abandoned(context: &RequestContext<RoleServer>) {
    let left = async {
        match ResponseStream::from_context(context) {
            Some(stream) => stream.abandoned().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = left => {}
    }
}

/// The agent whose key came with the message.
fn caller(context: &RequestContext<RoleServer>) -> Result<McpCaller, ErrorData> {
    let head = context.extensions.get::<http::request::Parts>();
    let caller = head.and_then(|head| head.extensions.get::<McpCaller>());
    caller.cloned().ok_or_else(|| ErrorData::invalid_request("no agent key", None))
}

/// A failure of the server itself. Its cause is logged, not told.
fn internal(error: impl std::fmt::Display) -> ErrorData {
    tracing::error!(%error, "cannot serve an MCP request");
    ErrorData::internal_error("the server failed; try again", None::<Value>)
}
