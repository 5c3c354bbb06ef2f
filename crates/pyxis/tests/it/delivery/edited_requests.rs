//! Messages about requests that a person edits, on platforms that this process only posts to.

use std::collections::BTreeMap;

use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::ChatSettings;
use pyxis_gateway::approvals::decide::{AuthMethod, Decision, decide_reviewed};
use pyxis_gateway::approvals::edit::{RequestEdit, Reviewed};
use pyxis_gateway::channels::Endpoints;
use pyxis_gateway::channels::card::CardConfig;
use pyxis_gateway::channels::matrix::MatrixConfig;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::matrix::StandIn;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use super::links::{deliver, quiet};
use crate::races::proxy::Proxy;

/// The second owner approves a smaller body.
pub(super) async fn edit_body(proxy: &Proxy, txn: TxnId) {
    let second = proxy.approver(1, DecisionSurface::Dashboard);
    let edit = RequestEdit { body: Some("smaller".to_owned()), ..RequestEdit::default() };
    let (word, reviewed) = (Decision::Approve(None), Reviewed { digest: None, edit: Some(edit) });
    decide_reviewed(&proxy.state, &second, txn, word, &AuthMethod::Session, None, &reviewed).await.unwrap();
}

engines! {
    async fn a_message_on_matrix_tells_of_an_edit_and_shows_the_edited_request(database: TestDatabase) {
        let homeserver = StandIn::start().await;
        let token = SecretString::new("t".to_owned());
        let chats = ChatSettings::default().with_platform(MatrixConfig { homeserver: homeserver.base(), token });
        let policy = json!({"channel": "chat_secondary", "matrix_room": "!ops:px.test", "min_approvals": 2});
        let proxy = quiet(database, chats, &policy.to_string()).await;
        let txn = proxy.pause(1).await;
        deliver(&proxy).await;
        let [posted] = homeserver.messages().try_into().unwrap();
        edit_body(&proxy, txn).await;
        deliver(&proxy).await;
        let [edited] = homeserver.messages().try_into().unwrap();
        assert_eq!(edited.event, posted.event);
        for part in ["Edited by b@example.com (body)", "│ smaller", "Approvals: 1 of 2"] {
            assert!(edited.text.contains(part), "{part}: {}", edited.text);
        }
        assert!(!edited.text.contains("│ round 1"), "{}", edited.text);
        let way = format!("https://px.example.com/approve/{txn}");
        assert!(edited.text.contains(&way), "{}", edited.text);
    }

    async fn a_card_tells_of_an_edit(database: TestDatabase) {
        let receiver = Upstream::http().await;
        let secret = SecretString::new("canary-signing-secret".to_owned());
        let chats = ChatSettings::default().with_platform(CardConfig {
            endpoints: Endpoints::parse(&format!("pager={}", receiver.url("/hook"))).unwrap(),
            secrets: BTreeMap::from([("pager".to_owned(), secret)]),
        });
        let policy = json!({"channel": "card", "card_endpoint": "pager", "min_approvals": 2});
        let proxy = quiet(database, chats, &policy.to_string()).await;
        let txn = proxy.pause(1).await;
        deliver(&proxy).await;
        edit_body(&proxy, txn).await;
        deliver(&proxy).await;
        let requests = receiver.requests();
        let cards: Vec<Value> = requests.iter().map(|one| serde_json::from_slice(&one.body).unwrap()).collect();
        let [first, second] = cards.try_into().unwrap();
        assert_eq!((&second["event"], &second["id"]), (&json!("approval.updated"), &first["id"]));
        let edited = json!({"name": "Edited", "value": "by b@example.com (body)"});
        assert!(second["facts"].as_array().unwrap().contains(&edited), "{second}");
        assert!(second["status"].as_array().unwrap().contains(&json!("Approvals: 1 of 2")), "{second}");
    }
}
