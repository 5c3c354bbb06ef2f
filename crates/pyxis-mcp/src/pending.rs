//! A call that waits for a person, told in the way that the client understands.
//!
//! A client that knows tasks gets a task, and one that can open a page is asked to. Every other client gets a text
//! that says what to do. The state that a client carries back is not trusted. It holds nothing but a transaction,
//! and is bound to the agent and to everything the call sends.

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Config;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, InputRequest,
    InputRequests, InputRequiredResult, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::answer::PendingApproval;
use crate::arguments::Call;
use crate::caller::McpCaller;

/// Name of the request for a person's decision among the requests of a result.
const APPROVAL: &str = "approval";
/// Lifetime of the state that a client carries, in milliseconds.
const STATE_LIFETIME: i64 = 24 * 60 * 60 * 1000;

/// Abilities of a client that matter while a person decides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Abilities {
    /// The tasks extension.
    pub(crate) tasks: bool,
    /// Elicitation by URL, in a protocol version that has results that require input.
    pub(crate) pages: bool,
}

/// State that a client carries between two attempts at a call.
#[derive(Serialize, Deserialize)]
struct RequestState {
    txn_id: String,
    expires_at: i64,
}

/// Signs and verifies the carried state. It can be read, and cannot be changed.
#[derive(Clone)]
pub(crate) struct RequestStateSigner(RequestStateCodec);

impl RequestStateSigner {
    pub(crate) fn new(gateway: &pyxis_gateway::State) -> Self {
        let key = gateway.keyring.derive("mcp-request-state");
        // Derived keys have 32 bytes, the length that is checked otherwise.
        Self(RequestStateCodec::new_unchecked(key.expose().clone()))
    }

    fn sign(&self, caller: &McpCaller, call: &Call, txn_id: &str, now: UnixMillis) -> Option<String> {
        let request_state = RequestState { txn_id: txn_id.to_owned(), expires_at: now.0 + STATE_LIFETIME };
        let bound = bound(caller, call);
        self.0.seal_json_with(&request_state, &SealOptions::new().associated_data(&bound)).ok()
    }

    /// The transaction in a state, if it was made for this agent and this call.
    pub(crate) fn verified(
        &self,
        caller: &McpCaller,
        call: &Call,
        state: &str,
        now: UnixMillis,
    ) -> Result<String, String> {
        let request_state: RequestState = self
            .0
            .open_json_with(state, &bound(caller, call))
            .map_err(|error| format!("requestState: {error}; call again without it"))?;
        if request_state.expires_at <= now.0 {
            return Err("requestState: it has expired; call again without it".to_owned());
        }
        Ok(request_state.txn_id)
    }
}

/// Associated data of a state: the agent and the call.
fn bound(caller: &McpCaller, call: &Call) -> Vec<u8> {
    [caller.agent.id.to_string().as_bytes(), b"|", &call.digest()].concat()
}

/// Answers a call that has waited long enough. `signer` is there for clients that can open a page.
pub(crate) fn respond(
    config: &Config,
    now: UnixMillis,
    signer: Option<&RequestStateSigner>,
    caller: &McpCaller,
    call: &Call,
    waiting: &PendingApproval,
) -> CallToolResponse {
    let state = signer.and_then(|signer| signer.sign(caller, call, &waiting.txn_id, now));
    match state {
        Some(state) => {
            let request = InputRequest::Elicitation(page_request(config, waiting));
            let requests = InputRequests::from([(APPROVAL.to_owned(), request)]);
            CallToolResponse::InputRequired(InputRequiredResult::new(Some(requests), Some(state)))
        }
        None => CallToolResponse::Complete(text(config, waiting)),
    }
}

/// Asks a client to open the approval page.
pub(crate) fn page_request(config: &Config, waiting: &PendingApproval) -> ElicitRequest {
    ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "This request needs a person's approval. Open the page to decide.{}",
            waiting.announcements.in_words()
        ),
        url: waiting.page(config),
        elicitation_id: waiting.txn_id.clone(),
    })
}

/// The answer for clients without further abilities.
pub(crate) fn text(config: &Config, waiting: &PendingApproval) -> CallToolResult {
    let page = waiting.page(config);
    let PendingApproval { txn_id, status, expires_at, announcements, .. } = waiting;
    let said = if status == "approved" {
        format!("Approved and being sent. Call `wait` with txn_id {txn_id} for the response.")
    } else {
        format!(
            "A person must approve this request. Show your user this page: {page}\nThen call `wait` with txn_id \
             {txn_id}. Do not send the request in another way. It expires at {expires_at}.{}",
            announcements.in_words()
        )
    };
    // Also in the data: some programs show a model nothing else.
    let mut data = json!({
        "outcome": "pending", "status": status, "txn_id": txn_id, "approval_url": page, "expires_at": expires_at,
        "next": said,
    });
    announcements.add_to(&mut data);
    let mut result = CallToolResult::success(vec![ContentBlock::text(said)]);
    result.structured_content = Some(data);
    result
}
