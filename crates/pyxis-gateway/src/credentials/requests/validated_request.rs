//! A well-formed request, ready to be authorized, recorded, and sent or stored.

use http::request;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;

use crate::credentials::requests::control::Control;
use crate::runtime::resolve::{ResolvedAgent, ResolvedCredential};

/// A request that passed the format checks.
pub(crate) struct ValidatedRequest<'a> {
    pub(crate) agent: &'a ResolvedAgent,
    pub(crate) credential: &'a ResolvedCredential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control<'a>,
    pub(crate) head: &'a request::Parts,
    /// Generation of the configuration from which `agent` and `credential` come.
    pub(crate) generation: i64,
}
