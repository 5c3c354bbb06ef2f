//! WebSockets through `/p/…` and `/forward` (`docs/reference/forwarding.md#websocket`).

mod approvals;
mod connection_end;
mod connection_limits;
mod handshakes;

use std::net::SocketAddr;

use pyxis_testkit::tls::{Authority, HTTP_1_1, HTTP_2};
use pyxis_testkit::websocket::{MessageHead, Socket, WebSocketHost, accepted};
use serde_json::{Value, json};

use crate::support::{App, Setup, until};

/// A secret that changes in no encoding.
const SECRET: &str = "sk-canary-of-the-socket-7Qx";
const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// A server, and a host of WebSockets with the bearer credential `api` for it.
struct Scene {
    app: App,
    host: WebSocketHost,
    _roots: tempfile::NamedTempFile,
}

impl Scene {
    /// A host with TLS, whose WebSockets pass without approval.
    async fn open() -> Self {
        let scene = Self::with(Setup::new()).await;
        scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
        scene
    }

    async fn with(setup: Setup) -> Self {
        Self::answering(setup, accepted).await
    }

    async fn answering(
        setup: Setup,
        answer: impl Fn(&MessageHead) -> String + Send + Sync + 'static,
    ) -> Self {
        let authority = Authority::new();
        let roots = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(roots.path(), authority.pem()).unwrap();
        let tls = authority.server(&["127.0.0.1"], &[HTTP_2, HTTP_1_1]);
        let host = WebSocketHost::answering(ANY_PORT.into(), Some(tls), answer).await;
        let app = App::start(setup.env("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap())).await;
        let body = json!({
            "name": "api", "auth": {"kind": "bearer"}, "secret": SECRET,
            "allowed_hosts": [host.addr().to_string()],
        });
        app.owner().add_credential(&body).await;
        Self { app, host, _roots: roots }
    }

    async fn policy(&self, policy: &Value) {
        self.app.owner().set_policy("api", policy).await;
    }

    fn address(&self) -> SocketAddr {
        self.app.address()
    }

    fn key(&self) -> &str {
        self.app.bootstrap["agent_key"].as_str().unwrap()
    }

    /// A handshake at `/p/api/…` with more headers.
    async fn open_socket(&self, path: &str, headers: &[(&str, &str)]) -> Socket {
        self.open_socket_as(&format!("Bearer {}", self.key()), path, headers).await
    }

    /// The same with the authorization of any agent.
    async fn open_socket_as(&self, bearer: &str, path: &str, headers: &[(&str, &str)]) -> Socket {
        let headers = [&[("Authorization", bearer)], headers].concat();
        Socket::open(self.address(), &format!("/p/api{path}"), &headers).await
    }

    /// Both sides of an open WebSocket.
    async fn connected(&mut self) -> (Socket, Socket) {
        let agent = self.open_socket("/live", &[]).await.opened();
        (agent, self.host.accept().await)
    }

    /// The `websocket` member of the only outcome, once it is recorded.
    async fn ended(&self) -> Value {
        let outcome = until("the end is recorded", async || {
            let records = self.app.audit().await;
            records.into_iter().find(|record| record["outcome"]["websocket"].is_object())
        });
        outcome.await["outcome"]["websocket"].clone()
    }
}
