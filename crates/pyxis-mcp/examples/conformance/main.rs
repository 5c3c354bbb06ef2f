//! Server of the official test suite's tools, resources and prompts, behind the transport and the checks of Pyxis:
//! `ci/conformance.sh` starts it. It prints its URL and an agent key, and serves until its input ends.
#![expect(deprecated, reason = "the suite for 2025-11-25 calls for log messages and subscriptions")]
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a fixture that cannot go on fails, and says its URL"
)]

mod client_requests;
mod content;
mod input_required;
mod notifications;
mod server;
mod subscriptions;
mod tasks;

use std::net::SocketAddr;

use pyxis_core::actor::Actor;
use pyxis_gateway::Config;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_net::{ClientConfig, Guard};
use pyxis_testbed::Node;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::installation::Installation;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let installation = Installation::start(TestDatabase::sqlite()).await;
    let workspace = installation.add_workspace("main").await;
    let config = Config { base_url: format!("http://{address}"), ..Config::default() };
    let node = Node::start(installation, &ClientConfig::new(Guard::new(Vec::new(), Vec::new())), config);
    let input = AgentInput {
        name: "conformance".to_owned(),
        rate_limit_per_hour: None,
        max_pending: None,
        credentials: AgentScope::All,
    };
    let (_, key) = agents::create(&node.gateway, &Actor::cli(workspace), input).await.expect("an agent");
    let (stop, stopped) = watch::channel(false);
    let router = pyxis_mcp::mount(&node.gateway, false, stopped, &server::Fixture::default());
    println!("{}", json!({ "url": format!("http://{address}"), "agent_key": key.expose() }));
    let ended = async move {
        let mut input = Vec::new();
        let _ = tokio::io::stdin().read_to_end(&mut input).await;
        stop.send_replace(true);
    };
    axum::serve(listener, router).with_graceful_shutdown(ended).await.expect("a server");
}
