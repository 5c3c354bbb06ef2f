//! What can be done with the proxy's things. The admin API, the dashboard and the command line are
//! three ways to call these functions.

pub mod agents;
pub mod audit;
pub mod brand;
pub mod channels;
pub mod credentials;
pub mod grants;
pub mod people;
pub mod policies;
pub mod push;
pub mod sessions;
pub mod webhooks;
pub mod workspaces;
