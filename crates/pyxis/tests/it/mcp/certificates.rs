//! Targets whose certificate is wrong.

use std::net::SocketAddr;

use pyxis_testkit::tls::{Authority, HTTP_1_1};
use pyxis_testkit::upstream::Upstream;
use serde_json::json;

use super::client::{Mcp, text};
use crate::support::{SECRET, Setup, Site};

#[tokio::test]
async fn a_target_with_a_bad_certificate_gets_nothing_and_the_model_learns_why() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("ca.pem");
    std::fs::write(&roots, authority.pem()).unwrap();
    let site = Site::with(Setup::new().env("PX_EGRESS_CA_FILE", roots.to_str().unwrap())).await;
    let mcp = Mcp::new(&site);
    let http = &[HTTP_1_1];
    for (name, tls, reason) in [
        ("expired", authority.server_until(&["127.0.0.1"], http, 2020), "the host's certificate has expired"),
        ("misnamed", authority.server(&["127.0.0.9"], http), "the host's certificate is for another name"),
        ("unknown", Authority::new().server(&["127.0.0.1"], http), "the host's certificate is not trusted"),
    ] {
        let upstream = Upstream::listen(SocketAddr::from(([127, 0, 0, 1], 0)), Some(tls)).await;
        let fields = json!({
            "auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [upstream.addr().to_string()],
        });
        site.credential(name, &fields).await;
        let result = mcp.tool("call", json!({"credential": name, "url": upstream.url("/")})).await;
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), &json!("upstream_error")),
            "{name}: {result}"
        );
        assert!(text(&result).contains(reason), "{name}: {result}");
        assert_eq!(upstream.requests().len(), 0, "{name}");
    }
}
