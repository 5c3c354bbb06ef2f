//! Matrix: reactions, which are synchronized and not answered.

use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::matrix::MatrixConfig;
use pyxis_testkit::matrix::StandIn;
use pyxis_testkit::wire::Wire;

use super::*;

const PERSON: &str = "@ada:px.test";

struct MatrixPeer {
    faults: Arc<Faults>,
    wire: Wire,
    homeserver: StandIn,
}

pub(super) fn start(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let homeserver = StandIn::start().await;
        let wire = Wire::to(&homeserver.base(), Arc::clone(&faults)).await;
        let peer: Box<dyn Peer> = Box::new(MatrixPeer { faults, wire, homeserver });
        peer
    })
}

impl Peer for MatrixPeer {
    fn platform(&self) -> ChatPlatform {
        ChatPlatform::MATRIX
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn room(&self) -> &'static str {
        "!ops:px.test"
    }

    fn connect(&self, chats: ChatSettings) -> ChatSettings {
        chats.with_platform(MatrixConfig {
            homeserver: self.wire.base(),
            token: SecretString::new("canary-token".to_owned()),
        })
    }

    /// Without replies to people.
    fn announcements(&self) -> Vec<Announcement> {
        let is_shown = |text: &str| text.contains("wants to use") || text.contains("need approval");
        let all = self.homeserver.messages().into_iter().filter(|one| is_shown(&one.text));
        all.map(|one| Announcement { id: Some(one.event), text: one.text }).collect()
    }

    fn account(&self) -> Option<&'static str> {
        Some(PERSON)
    }

    fn click<'a>(&'a self, _lives: &'a Lives, asked: PlannedRequest) -> BoxFuture<'a, Click> {
        let found = self.homeserver.messages().into_iter().rev().find(|one| asked.is_in(&one.text));
        if let Some(message) = found {
            self.homeserver.react(&message, PERSON, if asked.approve { "✅" } else { "❌" });
        }
        Box::pin(std::future::ready(Click::Unknown))
    }

    fn posts_once(&self) -> bool {
        true
    }
}
