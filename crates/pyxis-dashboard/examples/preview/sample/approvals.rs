//! Inbox, approval pages and cards.

use pyxis_dashboard::text;
use pyxis_dashboard::text::Middle;
use pyxis_dashboard::view::approvals::{
    ApprovalPage, Card, CardState, DecidedPage, GrantChoice, GrantOffer, InboxPage, Load, Pages, ReturnTo,
    StandalonePage, Vote,
};
use pyxis_dashboard::view::body::BodyView;
use pyxis_dashboard::view::{Layout, Search};

use super::access::sorted;
use super::{Rendered, Sample, render};

impl Sample {
    fn card(self, txn: &str, method: &str, host: &str, path: &str, state: CardState) -> Card {
        let body = format!(
            r#"{{"customer":"cus_8812","amount":12900,"currency":"EUR","lines":[{{"sku":"plan-team","quantity":3}}],"note":"March{}"}}"#,
            self.hostile
        );
        Card {
            txn_id: self.t(txn),
            mark: self.t("pending none 0"),
            place: ReturnTo::Inbox,
            method: method.into(),
            host: self.t(host),
            path: Middle::new(&self.t(path), 72),
            plain_http: false,
            agent: self.t("checkout-bot"),
            agent_page: Some("/app/agents/a1".to_owned()),
            credential: self.t("billing-api"),
            reason: Some(self.t("The customer asked for an invoice for the team plan, March.")),
            rule: self.t("POST needs approval"),
            signing: None,
            headers: Vec::new(),
            body: BodyView::new(Some("application/json"), body.as_bytes(), 8192),
            requested: self.at(-3),
            expires: self.at(57),
            min_approvals: 1,
            approvals: Vec::new(),
            state,
        }
    }

    fn open(self) -> CardState {
        let choices = [900, 1800, 3600, 7200, 14_400].map(|seconds| GrantChoice {
            seconds,
            label: text::duration(seconds),
            until: self.at(i64::try_from(seconds / 60).unwrap_or(0)),
        });
        CardState::Open {
            grant: GrantOffer::Choices {
                covers: self.t("any POST to api.example.com/v1/invoices with billing-api"),
                lately: self.t("12 of 1000 recent requests match, from checkout-bot."),
                choices: choices.to_vec(),
            },
            passkey: false,
        }
    }

    /// The same with a passkey.
    fn open_with_passkey(self) -> CardState {
        match self.open() {
            CardState::Open { grant, .. } => CardState::Open { grant, passkey: true },
            other => other,
        }
    }

    fn vote(self) -> Vote {
        Vote { by: self.t("bo@example.com"), at: self.at(-2) }
    }

    fn invoice(self, state: CardState) -> Card {
        self.card("3f2b8c1e-55d0-4a6e-9b1f-7a0c2d9e4f10", "POST", "api.example.com", "/v1/invoices", state)
    }

    /// A long path, a form body, two approvals, plain http.
    fn transfer(self) -> Card {
        let grant = GrantOffer::Unavailable(self.t("A grant cannot replace several approvals."));
        let path = "/v2/accounts/9f8e7d6c5b4a39281706/ledgers/2026-03/transfers/batch/approve-and-send?dry_run=false&notify=all";
        let form = format!("to=DE89+3704+0044+0532&amount=4%2C200.00&memo=rent{}", self.hostile);
        Card {
            reason: None,
            rule: self.t("matches /v2/accounts/*/ledgers"),
            plain_http: true,
            headers: vec![(self.t("stripe-account"), self.t("acct_of_another"))],
            body: BodyView::new(Some("application/x-www-form-urlencoded"), form.as_bytes(), 8192),
            requested: self.at(-48),
            expires: self.at(4),
            min_approvals: 2,
            approvals: vec![self.vote()],
            ..self.card(
                "91c0e7aa-0b7c-4f6e-8d53-4ac1be0a7712",
                "PUT",
                "bank.example.net:8443",
                path,
                CardState::Open { grant, passkey: false },
            )
        }
    }

    fn upload(self) -> Card {
        let bytes: Vec<u8> = (0..2600_u32).map(|n| (n * 37 % 251) as u8).collect();
        Card {
            body: BodyView::new(Some("application/octet-stream"), &bytes, 8192),
            reason: None,
            ..self.card(
                "0d5a4a52-6c0f-4f0e-a2a5-bd1a7f2f9c33",
                "PATCH",
                "files.example.org",
                "/upload/report.bin",
                self.watching(),
            )
        }
    }

    fn watching(self) -> CardState {
        CardState::Watching {
            why: self.t("You approved this 2 minutes ago. One more person must approve before it is sent."),
        }
    }

    fn settled(self) -> Vec<Card> {
        let by = || self.t("bo@example.com");
        let at = |minutes| self.at(minutes);
        let approved =
            CardState::Approved { by: by(), at: at(-9), result: self.t("200 from upstream"), failed: false };
        let failed = CardState::Approved {
            by: by(),
            at: at(-31),
            result: self.t("upstream did not answer in 30 s"),
            failed: true,
        };
        let denied = CardState::Denied {
            by: by(),
            at: at(-64),
            reason: Some(self.t("Wrong customer, ask again with cus_8821")),
        };
        let expired = CardState::Expired { at: at(-130), withdrawn: false };
        let withdrawn = CardState::Expired { at: at(-200), withdrawn: true };
        let ids = [
            "a1111111-1111-4111-8111-111111111111",
            "a2222222-2222-4222-8222-222222222222",
            "a3333333-3333-4333-8333-333333333333",
            "a4444444-4444-4444-8444-444444444444",
            "a5555555-5555-4555-8555-555555555555",
        ];
        let methods = ["POST", "DELETE", "POST", "PUT", "POST"];
        let paths = [
            "/v1/invoices",
            "/v1/items/44",
            "/v1/refunds",
            "/v1/items/12/price-list/2026/spring/with-a-very-long-name-that-needs-cutting/entries",
            "/v1/invoices",
        ];
        [approved, failed, denied, expired, withdrawn]
            .into_iter()
            .enumerate()
            .map(|(n, state)| self.card(ids[n], methods[n], "api.example.com", paths[n], state))
            .collect()
    }

    fn inbox(self, pending: Vec<Card>, decided: Vec<Card>) -> InboxPage {
        let shell = Layout { pending: pending.len() as u64, ..self.shell() };
        let pages = (pending.len() > 1).then(|| Pages {
            summary: self.t("3 of 120 that wait"),
            start: Some("/app/inbox".to_owned()),
            next: Some("/app/inbox?after=1".to_owned()),
        });
        let load = (!pending.is_empty()).then_some(Load {
            hour: 24,
            day: 130,
            approved: 118,
            denied: 3,
            heavy: pending.len() > 1,
        });
        let first_request = Some(self.curl());
        let search = Search { path: "/app/inbox".to_owned(), ..Search::default() };
        InboxPage { shell, search, load, pending, pages, decided, newest_first: false, first_request }
    }

    fn decided(self, q: &str, decided: Vec<Card>) -> String {
        let pages = (!decided.is_empty()).then(|| Pages {
            summary: self.t("5 requests"),
            start: Some("/app/decided".to_owned()),
            next: Some("/app/decided?after=1".to_owned()),
        });
        let columns = sorted("/app/decided");
        let search =
            Search { path: "/app/decided".to_owned(), q: q.to_owned(), columns, ..Search::default() };
        render(&DecidedPage { shell: self.shell(), search, decided, pages })
    }

    pub(super) fn approvals(self) -> Vec<Rendered> {
        let pending = vec![self.invoice(self.open()), self.transfer(), self.upload()];
        let approval = |card: Card| {
            render(&ApprovalPage { shell: self.shell(), card: Card { place: ReturnTo::Approval, ..card } })
        };
        let standalone = |mut card: Card| {
            card.place = ReturnTo::Standalone;
            if let CardState::Open { grant: GrantOffer::Choices { choices, .. }, .. } = &mut card.state {
                choices.retain(|choice| choice.seconds == 1800);
            }
            render(&StandalonePage { shell: self.shell(), card })
        };
        let ineligible = CardState::Watching {
            why: self.t("You are not eligible for billing-api. An owner or admin must decide."),
        };
        let text_body = Card {
            body: BodyView::new(Some("text/plain"), self.t(&"a line of text\n".repeat(900)).as_bytes(), 2048),
            ..self.invoice(CardState::Longer)
        };
        let mut settled = self.settled().into_iter();
        let mut next = || settled.next().expect("five settled cards");
        vec![
            ("/app/inbox", render(&self.inbox(pending, self.settled()))),
            ("/app/inbox/one", render(&self.inbox(vec![self.invoice(self.open())], Vec::new()))),
            ("/app/inbox/cut", render(&self.inbox(vec![text_body], Vec::new()))),
            ("/app/inbox/calm", render(&self.inbox(Vec::new(), self.settled()))),
            ("/app/inbox/empty", render(&self.inbox(Vec::new(), Vec::new()))),
            ("/app/decided", self.decided("", self.settled())),
            ("/app/decided/none", self.decided(&self.t("nobody"), Vec::new())),
            ("/app/decided/empty", self.decided("", Vec::new())),
            ("/app/approvals/open", approval(self.invoice(self.open()))),
            ("/app/approvals/passkey", approval(self.invoice(self.open_with_passkey()))),
            ("/approve/passkey", standalone(self.invoice(self.open_with_passkey()))),
            ("/app/approvals/two", approval(self.transfer())),
            ("/app/approvals/binary", approval(self.upload())),
            ("/app/approvals/ineligible", approval(self.invoice(ineligible))),
            ("/app/approvals/approved", approval(next())),
            ("/app/approvals/failed", approval(next())),
            ("/app/approvals/denied", approval(next())),
            ("/app/approvals/expired", approval(next())),
            ("/app/approvals/withdrawn", approval(next())),
            ("/approve/open", standalone(self.invoice(self.open()))),
            ("/approve/two", standalone(self.transfer())),
            ("/approve/denied", standalone(self.settled().remove(2))),
        ]
    }
}
