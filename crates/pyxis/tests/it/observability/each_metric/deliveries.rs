//! Notifications by channel.

use pyxis_testkit::engines;
use pyxis_testkit::ntfy::Ntfy;
use pyxis_testkit::push;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use super::Effect::{Becomes, By, Rises};
use super::{causes, measured};
use crate::support::{Browser, Setup, Site};

/// Settings that trust the authority.
fn trusting(setup: Setup, authority: &Authority) -> (Setup, tempfile::NamedTempFile) {
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), authority.pem()).unwrap();
    (setup.env("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap()), roots)
}

fn attempts(channel: &str, result: &str) -> String {
    format!("pyxis_deliveries_total{{channel=\"{channel}\",result=\"{result}\"}}")
}

engines! {
    async fn attempts_by_channel_and_what_waits_are_measured(setup: Setup) {
        let (authority, ntfy) = (Authority::new(), Ntfy::start().await);
        let (setup, _roots) = trusting(measured(setup), &authority);
        let site = Site::with(setup.env("PX_NTFY_TOPIC", "approvals").env("PX_NTFY_URL", &ntfy.url())).await;
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        let (site, app) = (&site, &site.app);
        let steps = json!([{"after_minutes": 10, "ntfy_topic": "late"}]);
        site.policy(&json!({"channel": "ntfy", "escalation": steps})).await;
        let delivered = attempts("ntfy", "delivered");
        causes(app, async || drop(site.pause("/shown").await), &[(&delivered, By(1.0))]).await;

        // Ten minutes later.
        let escalate = async || drop(app.sql("UPDATE escalation_steps SET due_at = 1"));
        causes(app, escalate, &[("pyxis_escalations_total{channel=\"ntfy\"}", By(1.0)), (&delivered, By(1.0))]).await;

        ntfy.set_down(true);
        let failed = attempts("ntfy", "failed");
        causes(app, async || drop(site.pause("/late").await), &[
            (&failed, Rises),
            ("pyxis_deliveries_oldest_timestamp_seconds{channel=\"ntfy\"}", Rises),
        ]).await;
        ntfy.set_down(false);
        causes(app, async || {}, &[("pyxis_deliveries_waiting{channel=\"ntfy\"}", Becomes(0.0))]).await;

        receiver.reply(Reply::new(204)).reply(Reply::new(500));
        let body = json!({"url": receiver.url("/in"), "events": ["approval.requested"]});
        site.owner.client.post("/admin/webhooks", &body).send().await.expect(201);
        let (delivered, failed) = (attempts("webhook", "delivered"), attempts("webhook", "failed"));
        causes(app, async || drop(site.pause("/hook/1").await), &[
            (&delivered, By(1.0)), ("pyxis_webhook_attempts_total{result=\"acknowledged\"}", By(1.0)),
        ]).await;
        causes(app, async || drop(site.pause("/hook/2").await), &[
            (&failed, By(1.0)), ("pyxis_webhook_attempts_total{result=\"failed\"}", By(1.0)),
        ]).await;
    }

    async fn browser_notifications_are_measured(setup: Setup) {
        let authority = Authority::new();
        let (setup, _roots) = trusting(measured(setup), &authority);
        let site = Site::with(setup).await;
        let service = Upstream::https(&authority, &["127.0.0.1"]).await;
        site.policy(&json!({"channel": "dashboard"})).await;
        site.app.admin("bo@people.example").await;
        let pages = Browser::sign_in(&site.app.anonymous(), "bo@people.example").await;
        let browser = push::Browser::new();
        let fields = [
            ("endpoint", service.url("/send")), ("p256dh", browser.p256dh()), ("auth", browser.auth()),
            ("label", "Firefox".to_owned()),
        ];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        pages.submit("/app/push/subscribe", &fields).await.expect(303);
        let (delivered, failed) = (attempts("push", "delivered"), attempts("push", "failed"));
        service.reply(Reply::new(201)).reply(Reply::new(403));
        causes(&site.app, async || drop(site.pause("/one").await), &[(&delivered, By(1.0))]).await;
        causes(&site.app, async || drop(site.pause("/two").await), &[
            (&failed, By(1.0)), ("pyxis_push_refused_total{status=\"403\"}", By(1.0)),
        ]).await;
    }
}
