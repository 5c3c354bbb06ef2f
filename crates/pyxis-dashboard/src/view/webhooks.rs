//! Webhook endpoints and their deliveries.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/webhooks`.
#[derive(Clone, Debug, Template)]
#[template(path = "webhooks.html")]
pub struct WebhooksPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The endpoints found, oldest first.
    pub webhooks: Vec<WebhookLine>,
}

/// One endpoint in the list.
#[derive(Clone, Debug)]
pub struct WebhookLine {
    pub id: String,
    /// URL that deliveries are posted to.
    pub url: String,
    /// Description for people.
    pub description: String,
    /// `all events of approvals`, `approval.decided`.
    pub events: String,
    /// True if it receives events.
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
    pub url: String,
    pub description: String,
    /// All events, with the chosen ones marked.
    pub events: Vec<Choice>,
    pub problems: Problems,
}

/// `GET /app/new/webhook`; posts to `/app/webhooks`.
#[derive(Clone, Debug, Template)]
#[template(path = "webhook_new.html")]
pub struct NewWebhookPage {
    pub shell: Layout,
    pub form: WebhookForm,
}

/// Response to adding an endpoint or replacing its secret: shows the secret once. Never cached.
#[derive(Clone, Template)]
#[template(path = "webhook_secret.html")]
pub struct WebhookSecretPage {
    pub shell: Layout,
    /// The endpoint's id.
    pub id: String,
    pub url: String,
    pub secret: String,
    /// End of the period in which the replaced secret still signs as well.
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
    pub shell: Layout,
    pub webhook: WebhookLine,
    /// Time of creation.
    pub created: Timestamp,
    /// End of the period in which the replaced secret still signs as well.
    pub both_until: Option<Timestamp>,
    /// One page of deliveries, newest first.
    pub deliveries: Vec<DeliveryLine>,
    /// Event or transaction to filter by, as typed.
    pub q: String,
    /// Statuses to filter by: values of `?status=`.
    pub statuses: Vec<Choice>,
    /// True if this is the first page.
    pub first: bool,
    /// Link to older deliveries.
    pub older: Option<String>,
    pub form: WebhookForm,
}

/// State of a delivery: badge word, icon and color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBadge {
    /// More attempts will be made.
    Waiting,
    /// The receiver acknowledged it.
    Delivered,
    /// Given up.
    Failed,
}

impl DeliveryBadge {
    /// The word on the badge.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Waiting => "Pending",
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
    /// Its id, sent as `PX-Delivery`.
    pub id: String,
    pub event: String,
    /// State of the delivery.
    pub progress: DeliveryBadge,
    /// `1 attempt`, `3 attempts, sent again once`.
    pub attempts: String,
    /// Last response of the receiver: `200`, `timed out`.
    pub answer: String,
    /// Time of the event.
    pub created: Timestamp,
}

/// `GET /app/deliveries/{id}`; `/resend`.
#[derive(Clone, Debug, Template)]
#[template(path = "delivery.html")]
pub struct DeliveryPage {
    pub shell: Layout,
    pub delivery: DeliveryLine,
    /// The endpoint's id.
    pub webhook: String,
    pub url: String,
    /// The transaction in the event.
    pub txn: Option<String>,
    /// Time of the next attempt.
    pub next: Option<Timestamp>,
    /// Time of the last attempt, and its duration.
    pub last: Option<(Timestamp, String)>,
    /// Reason that the last attempt failed.
    pub error: Option<String>,
    /// Start of the last response.
    pub excerpt: Option<String>,
    /// Body of the delivery.
    pub body: String,
}

in_section!(
    WebhooksPage => Webhooks,
    NewWebhookPage => Webhooks,
    WebhookSecretPage => Webhooks,
    WebhookPage => Webhooks,
    DeliveryPage => Webhooks,
);
