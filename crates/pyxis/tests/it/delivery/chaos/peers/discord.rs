//! Discord: buttons and windows, which it signs and posts.

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::discord::DiscordConfig;
use pyxis_testkit::discord::{
    APPLICATION, BOT_TOKEN, CHANNEL, Discord, DiscordMessage, ShownResponse, public_key, signature,
};
use pyxis_testkit::wire::Wire;
use serde_json::Value;

use super::*;

const PERSON: &str = "1300000000000000001";

struct DiscordPeer {
    faults: Arc<Faults>,
    wire: Wire,
    discord: Discord,
}

pub(super) fn start(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let discord = Discord::start().await;
        let wire = Wire::to(&discord.base(), Arc::clone(&faults)).await;
        let peer: Box<dyn Peer> = Box::new(DiscordPeer { faults, wire, discord });
        peer
    })
}

impl DiscordPeer {
    /// Posts an interaction; what the person sees.
    async fn post_interaction(&self, lives: &Lives, interaction: &Value) -> Option<ShownResponse> {
        let (at, body) = (lives.now().seconds().to_string(), interaction.to_string());
        let request = Request::post("/discord/interactions")
            .header("content-type", "application/json")
            .header("x-signature-timestamp", &at)
            .header("x-signature-ed25519", signature(&at, &body));
        let (status, response) = lives.call(request.body(Body::from(body)).unwrap()).await?;
        (status == StatusCode::OK).then(|| self.discord.show(interaction, &response))
    }
}

impl Peer for DiscordPeer {
    fn platform(&self) -> ChatPlatform {
        ChatPlatform::DISCORD
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn room(&self) -> &'static str {
        CHANNEL
    }

    fn connect(&self, chats: ChatSettings) -> ChatSettings {
        chats.with_platform(DiscordConfig {
            bot_token: SecretString::new(BOT_TOKEN.to_owned()),
            application_id: APPLICATION.to_owned(),
            public_key: public_key(),
            channel: None,
            api_base: self.wire.base(),
        })
    }

    fn announcements(&self) -> Vec<Announcement> {
        let shown = |one: DiscordMessage| Announcement {
            id: Some(format!("{}/{}", one.channel, one.id)),
            text: one.text,
        };
        self.discord.messages().into_iter().map(shown).collect()
    }

    fn account(&self) -> Option<&'static str> {
        Some("@1300000000000000001")
    }

    fn click<'a>(&'a self, lives: &'a Lives, asked: PlannedRequest) -> BoxFuture<'a, Click> {
        Box::pin(async move {
            let found = self.discord.messages().into_iter().rev().find(|one| asked.is_in(&one.text));
            let Some(message) = found.filter(|one| one.labels().contains(&asked.label())) else {
                return Click::Unknown;
            };
            let press = self.discord.press(&message, asked.label(), PERSON);
            let mut seen = self.post_interaction(lives, &press).await;
            if let Some(ShownResponse::Window(window)) = &seen {
                let submitted = self.discord.submit(window, PERSON, "not now");
                seen = self.post_interaction(lives, &submitted).await;
            }
            match seen {
                Some(ShownResponse::Text(text))
                    if text.starts_with(if asked.approve { "Approved" } else { "Denied" }) =>
                {
                    Click::Acknowledged
                }
                _ => Click::Unknown,
            }
        })
    }

    fn posts_once(&self) -> bool {
        true
    }
}
