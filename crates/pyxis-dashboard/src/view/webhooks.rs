//! Webhook endpoints and their deliveries.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/webhooks`.
#[derive(Clone, Debug, Template)]
#[template(path = "webhooks.html")]
pub struct WebhooksPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// Those found, oldest first.
    pub webhooks: Vec<WebhookLine>,
}

/// One endpoint in the list.
#[derive(Clone, Debug)]
pub struct WebhookLine {
    /// Its id.
    pub id: String,
    /// Where deliveries are posted.
    pub url: String,
    /// For people.
    pub description: String,
    /// `all events of approvals`, `approval.decided`.
    pub events: String,
    /// True if anything is sent.
    pub enabled: bool,
    /// Deliveries that wait for an attempt.
    pub pending: u64,
    /// Deliveries that were given up.
    pub failed: u64,
    /// `12 delivered, 1 waiting`.
    pub counts: String,
}

/// The form for a new endpoint or a changed one. Fields: `url`, `description`, `event` (repeated; none
/// means all).
#[derive(Clone, Debug, Default)]
pub struct WebhookForm {
    /// URL.
    pub url: String,
    /// Description.
    pub description: String,
    /// Every event.
    pub events: Vec<Choice>,
    /// What is wrong.
    pub problems: Problems,
}

/// `GET /app/new/webhook`; posts to `/app/webhooks`.
#[derive(Clone, Debug, Template)]
#[template(path = "webhook_new.html")]
pub struct NewWebhookPage {
    /// The frame.
    pub shell: Layout,
    /// The form.
    pub form: WebhookForm,
}

/// The answer to adding or replacing the secret: the secret, this once. Never cached.
#[derive(Clone, Template)]
#[template(path = "webhook_secret.html")]
pub struct WebhookSecretPage {
    /// The frame.
    pub shell: Layout,
    /// The endpoint's id.
    pub id: String,
    /// Its URL.
    pub url: String,
    /// The secret.
    pub secret: String,
    /// Until when the replaced secret signs as well.
    pub both_until: Option<Timestamp>,
}

impl std::fmt::Debug for WebhookSecretPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSecretPage").field("url", &self.url).finish_non_exhaustive()
    }
}

/// `GET /app/webhooks/{id}`: deliveries (`?status=`, `?before=`), change (`/edit`), `/rotate`,
/// `/disable`, `/enable`, `/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "webhook.html")]
pub struct WebhookPage {
    /// The frame.
    pub shell: Layout,
    /// The endpoint.
    pub webhook: WebhookLine,
    /// When it was added.
    pub created: Timestamp,
    /// Until when the replaced secret signs as well.
    pub both_until: Option<Timestamp>,
    /// One page of them, newest first.
    pub deliveries: Vec<DeliveryLine>,
    /// The event or transaction that they are about, as typed.
    pub q: String,
    /// Which ones: values of `?status=`.
    pub statuses: Vec<Choice>,
    /// True if this is the first page of all.
    pub first: bool,
    /// The link to older ones.
    pub older: Option<String>,
    /// The form.
    pub form: WebhookForm,
}

/// How far a delivery has come: badge word, icon and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBadge {
    /// There are attempts to make.
    Waiting,
    /// The receiver acknowledged it.
    Delivered,
    /// Given up.
    Failed,
}

impl DeliveryBadge {
    /// The word on the badge.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Delivered => "Delivered",
            Self::Failed => "Failed",
        }
    }

    /// Its icon in the sprite.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Waiting => "clock",
            Self::Delivered => "check",
            Self::Failed => "cross",
        }
    }

    /// Its class in the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Waiting => "amber",
            Self::Delivered => "green",
            Self::Failed => "red",
        }
    }
}

/// One delivery in the list.
#[derive(Clone, Debug)]
pub struct DeliveryLine {
    /// Its id, which is `PX-Delivery`.
    pub id: String,
    /// The event.
    pub event: String,
    /// How far it has come.
    pub progress: DeliveryBadge,
    /// `1 attempt`, `3 attempts, sent again once`.
    pub attempts: String,
    /// What the receiver said last: `200`, `timed out`.
    pub answer: String,
    /// When the event happened.
    pub created: Timestamp,
}

/// `GET /app/deliveries/{id}`; `/resend`.
#[derive(Clone, Debug, Template)]
#[template(path = "delivery.html")]
pub struct DeliveryPage {
    /// The frame.
    pub shell: Layout,
    /// The delivery.
    pub delivery: DeliveryLine,
    /// The endpoint's id.
    pub webhook: String,
    /// Its URL.
    pub url: String,
    /// The transaction that it tells of.
    pub txn: Option<String>,
    /// When it is attempted next.
    pub next: Option<Timestamp>,
    /// The last attempt, and how long it took.
    pub last: Option<(Timestamp, String)>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// How the last answer began.
    pub excerpt: Option<String>,
    /// What is sent.
    pub body: String,
}

in_section!(
    WebhooksPage => Webhooks,
    NewWebhookPage => Webhooks,
    WebhookSecretPage => Webhooks,
    WebhookPage => Webhooks,
    DeliveryPage => Webhooks,
);
