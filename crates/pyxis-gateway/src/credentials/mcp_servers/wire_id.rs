//! Ids of messages on their way to a server.
//!
//! Agents share the session of a server, and a server may find the way of an answer by session and id. So every message
//! has an id of its own on the wire. What is stored and approved has [`message::ID`].

use bytes::Bytes;
use http_body_util::BodyExt;
use pyxis_core::entropy::{self, Entropy};

use super::message;
use crate::credentials::outbound::replacement::Replacement;
use crate::credentials::outbound::{Outbound, UpstreamResponse, dispatch};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Beginnings of a message, up to its id. The members are sorted, or in the order of their making.
const BEGINNINGS: [&str; 2] = [r#"{"id":"#, r#"{"jsonrpc":"2.0","id":"#];

/// Sends a message under an id of its own. The answer has the common id again.
pub(super) async fn send(
    state: &State,
    outbound: Outbound<'_>,
    body: pyxis_net::Body,
) -> Result<UpstreamResponse> {
    let common = body.collect().await.map_err(|_| Error::IncompleteBody)?.to_bytes();
    let id = WireId::new(&*state.entropy);
    let own = std::str::from_utf8(&common).ok().and_then(|message| id.put(message));
    // A notification has no id, and no answer.
    let message = own.map_or(common, Bytes::from);
    let mut answer = dispatch(state, outbound, pyxis_net::body::full(message)).await?;
    answer.body.replace(id.restoration());
    Ok(answer)
}

/// Random id of one message.
struct WireId(String);

impl WireId {
    fn new(entropy: &dyn Entropy) -> Self {
        Self(entropy::token::<12>(entropy, "pyxis-"))
    }

    /// The message under this id, and otherwise byte for byte. `None` if it does not have the common one.
    fn put(&self, message: &str) -> Option<String> {
        let common = quoted(message::ID);
        BEGINNINGS.into_iter().find_map(|beginning| {
            let rest = message.strip_prefix(beginning)?.strip_prefix(&common)?;
            Some(format!("{beginning}{}{rest}", quoted(&self.0)))
        })
    }

    /// Replaces this id by the common one.
    fn restoration(&self) -> Replacement {
        Replacement::new(quoted(&self.0), quoted(message::ID))
    }
}

fn quoted(id: &str) -> String {
    format!("\"{id}\"")
}

#[cfg(test)]
mod tests {
    use pyxis_core::entropy::SeededEntropy;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn equal_messages_have_different_ids_on_the_wire_and_are_otherwise_equal() {
        let entropy = SeededEntropy::new(1);
        let arguments = json!({"id": message::ID, "text": "\"id\":\"pyxis-tool-call\""});
        let message = message::request("tools/call", json!({"name": "a", "arguments": arguments}));
        let sent: Vec<Value> = (0..2)
            .map(|_| WireId::new(&entropy).put(&message.to_string()).unwrap())
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect();
        assert_ne!(sent[0]["id"], sent[1]["id"]);
        for mut one in sent {
            assert_ne!(one["id"], message::ID);
            one["id"] = message["id"].clone();
            assert_eq!(one, message);
        }
    }

    #[test]
    fn a_message_without_the_common_id_stays_as_it_is() {
        let id = WireId::new(&SeededEntropy::new(1));
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"id":"pyxis-tool-call-2","jsonrpc":"2.0"}"#,
            r#"{"params":{"id":"pyxis-tool-call"}}"#,
            "",
        ] {
            assert_eq!(id.put(other), None, "{other}");
        }
    }

    #[test]
    fn the_answer_is_found_by_the_common_id_and_only_if_it_has_the_one_that_was_sent() {
        let entropy = SeededEntropy::new(1);
        let (own, other) = (WireId::new(&entropy), WireId::new(&entropy));
        let answered = |id: &WireId| {
            let body = json!({"jsonrpc": "2.0", "id": id.0, "result": {}}).to_string();
            let mut restoration = own.restoration();
            let relayed = restoration.push(body.as_bytes()).unwrap();
            assert_eq!(restoration.finish(), None);
            message::answer(&relayed)
        };
        assert!(answered(&own).is_some());
        assert_eq!(answered(&other), None);
    }
}
