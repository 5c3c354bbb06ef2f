//! Responses that do not fit into a result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::client::{Mcp, text};
use crate::support::{SECRET, Setup, Site};

/// Every part of a response, from `uri` on.
async fn parts(mcp: &Mcp, uri: &Value) -> Vec<Value> {
    let (mut parts, mut next) = (Vec::new(), uri.clone());
    while next.is_string() {
        let read = mcp.result("resources/read", &json!({ "uri": next })).await;
        let [part] = <[Value; 1]>::try_from(read["contents"].as_array().unwrap().clone()).unwrap();
        next = part["_meta"]["pyxis/next"].clone();
        parts.push(part);
    }
    parts
}

fn rest(result: &Value) -> &Value {
    assert_eq!(result["structuredContent"]["truncated"], true, "{result}");
    &result["structuredContent"]["rest"]["uri"]
}

engines! {
    async fn the_rest_of_a_long_answer_is_read_in_parts_by_its_agent_only(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        let body = format!("{}{SECRET}{}", "ä".repeat(100_000), "é".repeat(50_000));
        site.upstream.reply(Reply::ok(body.clone().into_bytes()).header("content-type", "text/plain"));
        let long = mcp.forward(&site, "GET", "/").await;
        let (said, shown) = text(&long).split_once("\n\n").unwrap();
        assert!(said.contains("read the rest at pyxis://responses/") && shown.len() <= 65_536, "{said}");
        assert_eq!(long["content"][1]["type"], "resource_link");
        let read = parts(&mcp, rest(&long)).await;
        assert!(read.len() > 2 && read.iter().all(|part| part["text"].as_str().unwrap().len() <= 65_536));
        let joined: String = read.iter().map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(format!("{shown}{joined}"), body.replace(SECRET, "[REDACTED:api]"));

        let added = site.owner.add_agent(&json!({"name": "second"})).await;
        let stranger = Mcp::for_key(&site.app, added["key"].as_str().unwrap());
        for (mcp, uri) in [
            (&stranger, rest(&long).clone()),
            (&mcp, json!("pyxis://responses/00000000-0000-4000-8000-000000000000")),
            (&mcp, json!("file:///etc/passwd")),
        ] {
            let refused = mcp.request("resources/read", &json!({ "uri": uri })).send().await;
            assert!(refused.text().contains("unknown resource"), "{refused:?}");
        }
    }

    async fn a_long_answer_to_an_approved_call_is_read_from_its_transaction(setup: Setup) {
        let site = Site::with(setup.env("PX_MCP_WAIT_SECS", "0")).await;
        let mcp = Mcp::new(&site);
        let bytes: Vec<u8> = (0..2_500_000_u32).map(|n| n.to_le_bytes()[0] | 0x80).collect();
        site.upstream.reply(Reply::ok(bytes.clone()).header("content-type", "application/octet-stream"));
        let asked = mcp.forward(&site, "POST", "/report").await;
        let txn = asked["structuredContent"]["txn_id"].as_str().unwrap();
        site.owner.approve(txn).await;
        site.agent.outcome(txn).await;
        let long = mcp.tool("wait", json!({"txn_id": txn})).await;
        assert!(rest(&long).as_str().unwrap().contains(txn), "{}", rest(&long));
        let shown = STANDARD.decode(long["structuredContent"]["body"].as_str().unwrap()).unwrap();
        let read = parts(&mcp, rest(&long)).await;
        let decoded = read.iter().map(|part| STANDARD.decode(part["blob"].as_str().unwrap()).unwrap());
        assert!([shown, decoded.collect::<Vec<_>>().concat()].concat() == bytes, "a part is missing");
    }
}

#[tokio::test]
async fn the_template_of_long_responses_is_listed_and_no_response_of_anyone_is() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let listed = mcp.result("resources/templates/list", &json!({})).await;
    assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "pyxis://responses/{id}{?offset}");
    assert_eq!(mcp.result("resources/list", &json!({})).await["resources"], json!([]));
}
