//! Subscriptions to the suite's resources. Each belongs to a session.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// Sessions with the URIs that they watch.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<BTreeSet<(String, String)>>>);

impl Subscriptions {
    pub(super) fn add(&self, context: &RequestContext<RoleServer>, uri: String) -> Result<(), ErrorData> {
        let subscription = (session(context)?, uri);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(subscription);
        Ok(())
    }

    pub(super) fn remove(&self, context: &RequestContext<RoleServer>, uri: String) -> Result<(), ErrorData> {
        let subscription = (session(context)?, uri);
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&subscription) {
            return Ok(());
        }
        Err(ErrorData::invalid_params("this session has no such subscription", None))
    }
}

fn session(context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let head = context.extensions.get::<http::request::Parts>();
    let id = head.and_then(|head| head.headers.get("mcp-session-id")?.to_str().ok());
    id.map(str::to_owned).ok_or_else(|| ErrorData::invalid_request("a subscription needs a session", None))
}
