//! Sample data for every page and state, shared by the preview and the tests of the pages.

#[path = "sample/access.rs"]
mod access;
#[path = "sample/approvals.rs"]
mod approvals;
#[path = "sample/catalogue.rs"]
mod catalogue;
#[path = "sample/delivery.rs"]
mod delivery;
#[path = "sample/entrance.rs"]
mod entrance;
#[path = "sample/policies.rs"]
mod policies;
#[path = "sample/record.rs"]
mod record;
#[path = "sample/scoring.rs"]
mod scoring;

use askama::Template;
use pyxis_core::clock::UnixMillis;
use pyxis_dashboard::view::{Choice, Flash, Layout, Problems, RoomField, Timestamp};
use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::channels::platform::PlatformDescriptor;

/// Appended to every text that an untrusted party could choose; empty for the preview.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) hostile: &'static str,
    pub(crate) now: UnixMillis,
}

/// A rendered page: the path where the preview shows it, and its HTML.
pub(crate) type Rendered = (&'static str, String);

fn render(page: &impl Template) -> String {
    page.render().expect("sample pages render")
}

impl Sample {
    /// Every page in every state.
    pub(crate) fn all(self) -> Vec<Rendered> {
        let mut pages = self.entrance();
        pages.extend(self.approvals());
        pages.extend(self.access());
        pages.extend(self.people_pages());
        pages.extend(self.policy_pages());
        pages.extend(self.record());
        pages.extend(self.delivery_pages());
        pages.extend(self.notification_pages());
        pages.extend(self.scorers());
        pages.extend(self.api_keys());
        pages.extend(self.explorer());
        pages.extend(self.catalogue());
        pages
    }

    fn t(self, text: &str) -> String {
        format!("{text}{}", self.hostile)
    }

    /// Minutes from now; negative is the past.
    fn at(self, minutes: i64) -> Timestamp {
        Timestamp::new(UnixMillis(self.now.0 + minutes * 60_000), self.now)
    }

    fn choice(self, value: &str, label: &str, chosen: bool) -> Choice {
        Choice { value: self.t(value), label: self.t(label), chosen }
    }

    fn room_fields(self, blank: &str) -> Vec<RoomField> {
        let field = |(described, value): (&PlatformDescriptor, &str)| RoomField {
            name: described.platform.spec().room_field,
            label: described.platform.room_label(),
            blank: self.t(blank),
            example: described.page.room_example,
            hint: described.page.room_hint,
            value: self.t(value),
        };
        PLATFORMS.iter().zip(["-1001234567890", "!ops:example.org"]).map(field).collect()
    }

    fn shell(self) -> Layout {
        Layout {
            csrf: self.t("c2FtcGxl"),
            user: self.t("ana@example.com"),
            role: "Owner".into(),
            workspace: self.t("Acme"),
            manager: true,
            scoring: true,
            verification: true,
            pending: 3,
            flash: None,
        }
    }

    fn told(self, good: bool, text: &str) -> Layout {
        Layout { flash: Some(Flash { good, text: self.t(text) }), ..self.shell() }
    }

    fn problems(self, fields: &[(&'static str, &str)]) -> Problems {
        let mut problems = Problems::default();
        for (field, message) in fields {
            problems.add(field, self.t(message));
        }
        problems
    }

    fn curl(self) -> String {
        self.t("curl -X POST http://localhost:8700/forward \\\n  -H 'X-PX-Key: pxk_…' \\\n  -H 'X-PX-Credential: billing-api' \\\n  -H 'X-PX-Target: https://api.example.com/v1/items' \\\n  -H 'X-PX-Method: POST' \\\n  -d '{\"name\":\"first\"}'")
    }
}
