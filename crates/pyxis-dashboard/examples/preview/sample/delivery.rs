//! Webhook endpoints and deliveries, notifications, the brand.

use pyxis_dashboard::view::brand::{BrandPage, ChatBrand};
use pyxis_dashboard::view::notifications::{
    AccountLine, BrowserLine, LinkCodePage, NotificationsPage, PlatformLine, UnshownLine,
};
use pyxis_dashboard::view::webhooks::{
    DeliveryBadge, DeliveryLine, DeliveryPage, NewWebhookPage, WebhookForm, WebhookLine, WebhookPage,
    WebhookSecretPage, WebhooksPage,
};
use pyxis_dashboard::view::{Problems, Search};

use pyxis_gateway::channels::PLATFORMS;

use super::{Rendered, Sample, render};

impl Sample {
    fn webhook_line(self, n: usize) -> WebhookLine {
        WebhookLine {
            id: self.t(["w1", "w2"][n]),
            url: self.t(["https://hooks.example.com/pyxis", "https://old.example.com/in"][n]),
            description: self.t(["Pages the person on duty", ""][n]),
            events: self.t(["all approval events", "approval.decided"][n]),
            enabled: n == 0,
            pending: [1, 0][n],
            failed: [2, 0][n],
            counts: self.t(["112 delivered, 1 waiting", "nothing yet"][n]),
        }
    }

    fn webhook_form(self, problems: Problems) -> WebhookForm {
        WebhookForm {
            url: self.t("https://hooks.example.com/pyxis"),
            description: self.t("Pages the person on duty"),
            events: vec![
                self.choice("approval.requested", "a request needs approval", true),
                self.choice("approval.decided", "a person approved or denied it", false),
            ],
            problems,
        }
    }

    fn delivery_line(self, n: usize) -> DeliveryLine {
        DeliveryLine {
            id: self.t(["d1", "d2", "d3"][n]),
            event: self.t(["approval.requested", "approval.decided", "approval.expired"][n]),
            progress: [DeliveryBadge::Waiting, DeliveryBadge::Delivered, DeliveryBadge::Failed][n],
            attempts: self.t(["2 attempts", "1 attempt, sent again 1 time", "5 attempts"][n]),
            answer: self.t(["no answer", "204", "500"][n]),
            created: self.at([-1, -90, -3000][n]),
        }
    }

    pub(super) fn notification_pages(self) -> Vec<Rendered> {
        let account = AccountLine { id: self.t("4242"), label: self.t("@ada"), linked: self.at(-90) };
        let page = NotificationsPage {
            shell: self.shell(),
            platforms: vec![
                PlatformLine {
                    name: "telegram".into(),
                    label: "Telegram".into(),
                    decides: true,
                    accounts: vec![account],
                },
                PlatformLine {
                    name: "matrix".into(),
                    label: "Matrix".into(),
                    decides: true,
                    accounts: Vec::new(),
                },
            ],
            search: self.search("/app/notifications"),
            push_key: self.t("BPush"),
            browsers: vec![BrowserLine {
                id: self.t("b1"),
                label: self.t("Chromium on Linux"),
                added: self.at(-5),
                refused: Some((self.t("403 BadJwtToken"), self.at(-1))),
            }],
            unshown: vec![UnshownLine {
                platform: "Matrix".into(),
                chat: self.t("!a:example.org"),
                txn: self.t("t1"),
                why: self.t("The room is encrypted."),
                again: true,
                at: self.at(-7),
            }],
            unreachable: Vec::new(),
            refused: Vec::new(),
            connected_by: vec![
                vec!["PX_TELEGRAM_BOT_TOKEN".into()],
                vec!["PX_MATRIX_HOMESERVER".into(), "PX_MATRIX_ACCESS_TOKEN".into()],
            ],
            rooms: self.room_fields("blank: nowhere"),
            problems: self.problems(&[("matrix_room", "Without blanks.")]),
        };
        let quiet = NotificationsPage {
            search: Search::default(),
            platforms: Vec::new(),
            unshown: Vec::new(),
            browsers: Vec::new(),
            problems: Problems::default(),
            ..page.clone()
        };
        let code = LinkCodePage {
            shell: self.shell(),
            platform: "Telegram".into(),
            command: self.t("/link ABCD2345EFGH"),
            until: self.at(10),
        };
        let brand = BrandPage {
            shell: self.shell(),
            display_name: self.t("Acme"),
            accent: self.t("#0f766e"),
            shown_name: self.t("Acme"),
            shown_accent: "0f766e".into(),
            draft: true,
            logo: Some("/brand/w1/logo.png".into()),
            public_logo: true,
            chats: PLATFORMS.iter().map(ChatBrand::from).collect(),
            problems: self.problems(&[("accent", "Six hex digits."), ("logo", "At most 256 KB.")]),
        };
        let plain = BrandPage {
            logo: None,
            public_logo: false,
            draft: false,
            problems: Problems::default(),
            ..brand.clone()
        };
        vec![
            ("/app/notifications", render(&page)),
            ("/app/notifications?quiet", render(&quiet)),
            ("/app/notifications?code", render(&code)),
            ("/app/brand", render(&brand)),
            ("/app/brand?plain", render(&plain)),
        ]
    }

    pub(super) fn delivery_pages(self) -> Vec<Rendered> {
        let page = WebhookPage {
            shell: self.shell(),
            webhook: self.webhook_line(0),
            created: self.at(-9000),
            both_until: Some(self.at(600)),
            deliveries: (0..3).map(|n| self.delivery_line(n)).collect(),
            q: String::new(),
            statuses: vec![self.choice("", "All", true), self.choice("failed", "Failed", false)],
            first: true,
            older: Some("/app/webhooks/w1?status=&before=d3".into()),
            form: self.webhook_form(Problems::default()),
        };
        let quiet = WebhookPage {
            webhook: self.webhook_line(1),
            both_until: None,
            deliveries: Vec::new(),
            older: None,
            form: self.webhook_form(self.problems(&[("url", "Must be https.")])),
            ..page.clone()
        };
        let webhooks = (0..2).map(|n| self.webhook_line(n)).collect();
        let delivery = DeliveryPage {
            shell: self.told(true, "Resending now."),
            delivery: self.delivery_line(0),
            webhook: self.t("w1"),
            url: self.t("https://hooks.example.com/pyxis"),
            txn: Some(self.t("t1")),
            next: Some(self.at(1)),
            last: Some((self.at(-1), self.t("10000 ms"))),
            error: Some(self.t("no answer within 10 seconds")),
            excerpt: Some(self.t("<html>oops")),
            body: self.t("{\"event\":\"approval.requested\"}"),
        };
        let secret = WebhookSecretPage {
            shell: self.shell(),
            id: self.t("w1"),
            url: self.t("https://hooks.example.com/pyxis"),
            secret: self.t("whsec_c2FtcGxl"),
            both_until: None,
        };
        vec![
            (
                "/app/webhooks",
                render(&WebhooksPage { shell: self.shell(), search: self.search("/app/webhooks"), webhooks }),
            ),
            (
                "/app/webhooks?empty",
                render(&WebhooksPage {
                    shell: self.shell(),
                    search: Search { path: "/app/webhooks".to_owned(), ..Search::default() },
                    webhooks: Vec::new(),
                }),
            ),
            (
                "/app/new/webhook",
                render(&NewWebhookPage { shell: self.shell(), form: self.webhook_form(Problems::default()) }),
            ),
            ("/app/webhooks/w1", render(&page)),
            ("/app/webhooks/w2", render(&quiet)),
            ("/app/webhooks?secret", render(&secret)),
            (
                "/app/webhooks?rotated",
                render(&WebhookSecretPage { both_until: Some(self.at(1440)), ..secret }),
            ),
            ("/app/deliveries/d1", render(&delivery)),
        ]
    }
}
