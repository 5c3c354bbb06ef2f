//! What the doors hand on: a request whose form is checked, to be judged, recorded and sent or stored.

use http::request;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;

use crate::requests::control::Control;
use crate::runtime::resolve::{ResolvedAgent, ResolvedCredential};

/// A request that passed the checks of form: who asks for what.
pub(crate) struct ValidatedRequest<'a> {
    pub(crate) agent: &'a ResolvedAgent,
    pub(crate) credential: &'a ResolvedCredential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control<'a>,
    pub(crate) head: &'a request::Parts,
    /// Of the configuration that `agent` and `credential` are from.
    pub(crate) generation: i64,
}
