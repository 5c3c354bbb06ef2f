//! Sample data for every page and state, shared by the preview and the tests of the pages.

use askama::Template;
use pyxis_core::clock::UnixMillis;
use pyxis_dashboard::chart::{Bucket, Series, StackedBars};
use pyxis_dashboard::text::{self, Middle};
use pyxis_dashboard::view::agents::*;
use pyxis_dashboard::view::approvals::*;
use pyxis_dashboard::view::audit::*;
use pyxis_dashboard::view::body::BodyView;
use pyxis_dashboard::view::credentials::*;
use pyxis_dashboard::view::error::ErrorPage;
use pyxis_dashboard::view::people::*;
use pyxis_dashboard::view::policies::*;
use pyxis_dashboard::view::settings::*;
use pyxis_dashboard::view::sign_in::*;
use pyxis_dashboard::view::{Choice, Flash, Outcome, Problems, Shell, When};

/// Appended to every text that a stranger could choose; empty for the preview.
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
        pages.extend(self.policy_pages());
        pages.extend(self.record());
        pages
    }

    fn t(self, text: &str) -> String {
        format!("{text}{}", self.hostile)
    }

    /// Minutes from now; negative is the past.
    fn at(self, minutes: i64) -> When {
        When::new(UnixMillis(self.now.0 + minutes * 60_000), self.now)
    }

    fn choice(self, value: &str, label: &str, chosen: bool) -> Choice {
        Choice { value: self.t(value), label: self.t(label), chosen }
    }

    fn shell(self) -> Shell {
        Shell {
            csrf: self.t("c2FtcGxl"),
            user: self.t("ana@example.com"),
            role: "Owner".into(),
            workspace: self.t("Acme"),
            manager: true,
            pending: 3,
            flash: None,
        }
    }

    fn told(self, good: bool, text: &str) -> Shell {
        Shell { flash: Some(Flash { good, text: self.t(text) }), ..self.shell() }
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

    fn sign_in(self, state: SignInState, email: &str) -> SignInPage {
        SignInPage {
            csrf: self.t("c2FtcGxl"),
            email: self.t(email),
            next: self.t("/app/inbox"),
            purpose: None,
            state,
        }
    }

    fn link(self, set_password: bool, problem: Option<&str>) -> LinkPage {
        LinkPage {
            csrf: self.t("c2FtcGxl"),
            token: self.t("5fJ2"),
            email: self.t("ana@example.com"),
            workspace: self.t("Acme"),
            set_password,
            problem: problem.map(|p| self.t(p)),
        }
    }

    fn entrance(self) -> Vec<Rendered> {
        let locked = SignInState::Locked { wait: self.t("12 minutes") };
        let deciding = SignInPage {
            purpose: Some(self.t("Sign in to decide the request an agent sent you.")),
            ..self.sign_in(SignInState::Fresh, "")
        };
        let id = || Some(self.t("0198c6a2-7c1e-7d2a-9a55-0c8f6f1f2a10"));
        let conflict = self.t("bo@example.com denied this request 4 seconds before you. Nothing was sent.");
        vec![
            ("/sign-in", render(&self.sign_in(SignInState::Fresh, ""))),
            ("/sign-in/wrong", render(&self.sign_in(SignInState::Wrong, "ana@example.com"))),
            ("/sign-in/locked", render(&self.sign_in(locked, "ana@example.com"))),
            ("/sign-in/ended", render(&self.sign_in(SignInState::Ended, "ana@example.com"))),
            ("/sign-in/deciding", render(&deciding)),
            ("/link/confirm", render(&self.link(false, None))),
            ("/link/password", render(&self.link(true, None))),
            ("/link/mismatch", render(&self.link(true, Some("The two passwords differ. Type the same one twice.")))),
            ("/error/403", render(&ErrorPage::forbidden(id()))),
            ("/error/form", render(&ErrorPage::stale_form(id()))),
            ("/error/404", render(&ErrorPage::not_found(None))),
            ("/error/link", render(&ErrorPage::link_used(None))),
            ("/error/409", render(&ErrorPage::conflict(&conflict, id()))),
            ("/error/500", render(&ErrorPage::internal(id()))),
        ]
    }

    fn card(self, txn: &str, method: &str, host: &str, path: &str, state: CardState) -> Card {
        let body = format!(r#"{{"customer":"cus_8812","amount":12900,"currency":"EUR","lines":[{{"sku":"plan-team","quantity":3}}],"note":"March{}"}}"#, self.hostile);
        Card {
            txn_id: self.t(txn),
            place: Place::Inbox,
            method: method.into(),
            host: self.t(host),
            path: Middle::new(&self.t(path), 72),
            plain_http: false,
            agent: self.t("checkout-bot"),
            credential: self.t("billing-api"),
            reason: Some(self.t("The customer asked for an invoice for the team plan, March.")),
            rule: self.t("POST needs approval"),
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
            until: text::time_of_day(UnixMillis(self.now.0 + i64::try_from(seconds).unwrap_or(0) * 1000)),
        });
        CardState::Open {
            grant: GrantOffer::Choices {
                covers: self.t("any POST to api.example.com/v1/invoices with billing-api"),
                choices: choices.to_vec(),
            },
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
        let grant = GrantOffer::Unavailable(self.t("A grant cannot stand in for two approvals."));
        let path = "/v2/accounts/9f8e7d6c5b4a39281706/ledgers/2026-03/transfers/batch/approve-and-send?dry_run=false&notify=all";
        let form = format!("to=DE89+3704+0044+0532&amount=4%2C200.00&memo=rent{}", self.hostile);
        Card {
            reason: None,
            rule: self.t("matches /v2/accounts/*/ledgers"),
            plain_http: true,
            body: BodyView::new(Some("application/x-www-form-urlencoded"), form.as_bytes(), 8192),
            requested: self.at(-48),
            expires: self.at(4),
            min_approvals: 2,
            approvals: vec![self.vote()],
            ..self.card("91c0e7aa-0b7c-4f6e-8d53-4ac1be0a7712", "PUT", "bank.example.net:8443", path, CardState::Open { grant })
        }
    }

    fn upload(self) -> Card {
        let bytes: Vec<u8> = (0..2600_u32).map(|n| (n * 37 % 251) as u8).collect();
        Card {
            body: BodyView::new(Some("application/octet-stream"), &bytes, 8192),
            reason: None,
            ..self.card("0d5a4a52-6c0f-4f0e-a2a5-bd1a7f2f9c33", "PATCH", "files.example.org", "/upload/report.bin", self.watching())
        }
    }

    fn watching(self) -> CardState {
        CardState::Watching { why: self.t("You approved this 2 minutes ago. One more person must approve before it is sent.") }
    }

    fn settled(self) -> Vec<Card> {
        let by = || self.t("bo@example.com");
        let at = |minutes| self.at(minutes);
        let approved = CardState::Approved { by: by(), at: at(-9), result: self.t("200 from upstream"), failed: false };
        let failed = CardState::Approved { by: by(), at: at(-31), result: self.t("upstream did not answer in 30 s"), failed: true };
        let denied = CardState::Denied { by: by(), at: at(-64), reason: Some(self.t("Wrong customer, ask again with cus_8821")) };
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
        let paths = ["/v1/invoices", "/v1/items/44", "/v1/refunds", "/v1/items/12/price-list/2026/spring/with-a-very-long-name-that-needs-cutting/entries", "/v1/invoices"];
        [approved, failed, denied, expired, withdrawn]
            .into_iter()
            .enumerate()
            .map(|(n, state)| self.card(ids[n], methods[n], "api.example.com", paths[n], state))
            .collect()
    }

    fn inbox(self, pending: Vec<Card>, decided: Vec<Card>) -> InboxPage {
        let shell = Shell { pending: pending.len() as u64, ..self.shell() };
        InboxPage { shell, pending, decided, newest_first: false, first_request: self.curl() }
    }

    fn approvals(self) -> Vec<Rendered> {
        let pending = vec![self.invoice(self.open()), self.transfer(), self.upload()];
        let approval = |card: Card| render(&ApprovalPage { shell: self.shell(), card: Card { place: Place::Approval, ..card } });
        let standalone = |mut card: Card| {
            card.place = Place::Standalone;
            if let CardState::Open { grant: GrantOffer::Choices { choices, .. } } = &mut card.state {
                choices.retain(|choice| choice.seconds == 1800);
            }
            render(&StandalonePage { shell: self.shell(), card })
        };
        let ineligible = CardState::Watching { why: self.t("You are not eligible for billing-api. An owner or admin must decide.") };
        let text_body = Card {
            body: BodyView::new(Some("text/plain"), self.t(&"a line of text\n".repeat(900)).as_bytes(), 2048),
            ..self.invoice(self.open())
        };
        let mut settled = self.settled().into_iter();
        let mut next = || settled.next().expect("five settled cards");
        vec![
            ("/app/inbox", render(&self.inbox(pending, self.settled()))),
            ("/app/inbox/one", render(&self.inbox(vec![self.invoice(self.open())], Vec::new()))),
            ("/app/inbox/cut", render(&self.inbox(vec![text_body], Vec::new()))),
            ("/app/inbox/calm", render(&self.inbox(Vec::new(), self.settled()))),
            ("/app/inbox/empty", render(&self.inbox(Vec::new(), Vec::new()))),
            ("/app/approvals/open", approval(self.invoice(self.open()))),
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

    fn agent(self, n: usize) -> AgentLine {
        let names = ["checkout-bot", "default-agent", "research-crawler"];
        let usage = ["12 of 100 this hour", "0 this hour, no limit", "340 this hour, no limit"];
        let scope = ["billing-api, mail", "all credentials", "search-api"];
        AgentLine {
            id: self.t(["0198c6a2-0000-7000-8000-000000000001", "0198c6a2-0000-7000-8000-000000000002", "0198c6a2-0000-7000-8000-000000000003"][n]),
            name: self.t(names[n]),
            key_hint: self.t(["pxk_3fA9…", "pxk_b71c…", "pxk_Q0xd…"][n]),
            enabled: n != 2,
            usage: self.t(usage[n]),
            credentials: self.t(scope[n]),
            last_seen: (n != 1).then(|| self.at(-3)),
        }
    }

    fn agent_form(self, problems: Problems) -> AgentForm {
        AgentForm {
            name: self.t("checkout-bot"),
            rate_limit_per_hour: self.t("100"),
            all_credentials: false,
            credentials: ["billing-api", "mail", "search-api"].map(|n| self.choice(n, n, n != "search-api")).to_vec(),
            problems,
        }
    }

    fn credential(self, n: usize) -> CredentialLine {
        CredentialLine {
            name: self.t(["billing-api", "mail", "search-api"][n]),
            description: if n == 2 { String::new() } else { self.t(["Invoices and refunds", "Transactional mail"][n]) },
            kind: self.t(["Bearer token", "Header X-Api-Key", "Query parameter key"][n]),
            allowed_hosts: if n == 2 { Vec::new() } else { vec![self.t("api.example.com"), self.t("*.files.example.org")] },
            policy: self.t(["3 rules, 2 approvals", "Gated: GET and HEAD pass", "Gated: GET and HEAD pass"][n]),
            last_used: (n == 0).then(|| self.at(-9)),
        }
    }

    fn credential_form(self, problems: Problems) -> CredentialForm {
        CredentialForm {
            name: self.t("billing-api"),
            description: self.t("Invoices and refunds"),
            allowed_hosts: self.t("api.example.com\n*.files.example.org"),
            allow_http: false,
            headers: vec![(self.t("X-Api-Key"), self.t("{secret.key}"))],
            parameter: self.t("key"),
            cookie_name: self.t("session"),
            api_base: self.t("http://127.0.0.1:8080"),
            problems,
        }
    }

    fn credential_page(self, n: usize, verified: Option<Verified>) -> String {
        render(&CredentialPage {
            shell: self.shell(),
            credential: self.credential(n),
            kind: Kind::Bearer,
            version: 3,
            created: self.at(-90_000),
            secret_replaced: self.at(-4_000),
            agents: self.t("all agents"),
            form: self.credential_form(Problems::default()),
            verified,
        })
    }

    fn new_credential(self, kind: Kind) -> String {
        let form = CredentialForm::default();
        render(&NewCredentialPage { shell: self.shell(), kind, form })
    }

    fn access(self) -> Vec<Rendered> {
        let wrong_agent = self.problems(&[("name", "An agent of this name exists. Choose another name."), ("rate_limit_per_hour", "Not a whole number."), ("credential", "No such credential.")]);
        let wrong_credential = self.problems(&[
            ("name", "A credential of this name exists."),
            ("allowed_hosts", "line 2: * may only stand first, as in *.example.com."),
            ("secret", "The secret is empty."),
            ("header_name", "line 1: Host cannot be set."),
            ("description", "Too long."),
        ]);
        let key = |rotated| {
            render(&AgentKeyPage {
                shell: self.shell(),
                id: self.agent(0).id,
                name: self.t("checkout-bot"),
                key: self.t("pxk_sample_only_not_a_key_0000000000000000"),
                rotated,
                curl: self.curl(),
            })
        };
        let agent_page = |n| {
            let form = self.agent_form(Problems::default());
            render(&AgentPage { shell: self.told(true, "Changes saved."), agent: self.agent(n), created: self.at(-90_000), form })
        };
        let agents = (0..3).map(|n| self.agent(n)).collect();
        let good = Verified { good: true, text: self.t("200 from api.example.com in 84 ms") };
        let bad = Verified { good: false, text: self.t("401 from api.example.com: the API does not take this secret") };
        let retry = self.credential_form(wrong_credential);
        vec![
            ("/app/agents", render(&AgentsPage { shell: self.shell(), agents, first_request: self.curl() })),
            ("/app/agents/empty", render(&AgentsPage { shell: self.shell(), agents: Vec::new(), first_request: self.curl() })),
            ("/app/new/agent", render(&NewAgentPage { shell: self.shell(), form: self.agent_form(Problems::default()) })),
            ("/app/new/agent/wrong", render(&NewAgentPage { shell: self.shell(), form: self.agent_form(wrong_agent) })),
            ("/app/agents/one", agent_page(0)),
            ("/app/agents/disabled", agent_page(2)),
            ("/app/agents/key", key(false)),
            ("/app/agents/rotated", key(true)),
            ("/app/credentials", render(&CredentialsPage { shell: self.shell(), credentials: (0..3).map(|n| self.credential(n)).collect() })),
            ("/app/credentials/empty", render(&CredentialsPage { shell: self.shell(), credentials: Vec::new() })),
            ("/app/new/credential", self.new_credential(Kind::Bearer)),
            ("/app/new/credential/header", self.new_credential(Kind::Header)),
            ("/app/new/credential/basic", self.new_credential(Kind::Basic)),
            ("/app/new/credential/query", self.new_credential(Kind::Query)),
            ("/app/new/credential/cookie", self.new_credential(Kind::Cookie)),
            ("/app/new/credential/sidecar", self.new_credential(Kind::Sidecar)),
            ("/app/new/credential/wrong", render(&NewCredentialPage { shell: self.shell(), kind: Kind::Header, form: retry })),
            ("/app/credentials/one", self.credential_page(0, None)),
            ("/app/credentials/verified", self.credential_page(0, Some(good))),
            ("/app/credentials/refused", self.credential_page(2, Some(bad))),
            ("/app/people", self.people(true)),
            ("/app/people/alone", self.people(false)),
            ("/app/new/person", render(&NewPersonPage { shell: self.shell(), email: self.t("bo@example"), roles: self.roles(), problems: self.problems(&[("email", "Not an e-mail address."), ("role", "No such role.")]) })),
            ("/app/people/link", render(&PersonLinkPage { shell: self.shell(), email: self.t("bo@example.com"), link: self.t("http://localhost:8700/link/5fJ2sampleOnly"), valid: "48 hours".into() })),
        ]
    }

    fn roles(self) -> Vec<Choice> {
        vec![self.choice("admin", "Admin", true), self.choice("owner", "Owner", false)]
    }

    fn people(self, several: bool) -> String {
        let person = |n: usize| Person {
            id: self.t(["u1", "u2", "u3", "u4"][n]),
            email: self.t(["ana@example.com", "bo@example.com", "cleo@example.com", "dag@example.com"][n]),
            role: self.t(["Owner", "Admin", "Admin", "Admin"][n]),
            roles: if n == 0 { Vec::new() } else { self.roles() },
            enabled: n != 3,
            you: n == 0,
            last_seen: (n != 2).then(|| self.at(-130)),
            changeable: n != 0,
        };
        let people = (0..if several { 4 } else { 1 }).map(person).collect();
        render(&PeoplePage { shell: self.shell(), people })
    }

    fn policy_form(self, problems: Problems) -> PolicyForm {
        let rules = [
            ("GET", MethodRule::Auto),
            ("POST", MethodRule::Ask),
            ("PUT", MethodRule::Ask),
            ("PATCH", MethodRule::Ask),
            ("DELETE", MethodRule::Deny),
            ("OPTIONS", MethodRule::Ask),
        ];
        PolicyForm {
            methods: rules.map(|(method, rule)| (method.to_owned(), rule)).to_vec(),
            auto_approve_urls: self.t("/v1/search"),
            require_approval_urls: self.t("/v1/refunds\napi.example.com/v1/*/payout"),
            deny_urls: self.t("/v1/keys"),
            allowed_approvers: String::new(),
            min_approvals: self.t("2"),
            require_reason: true,
            approval_timeout_minutes: String::new(),
            channels: vec![
                self.choice("agent_reflected", "In the agent's answer, and in the inbox", true),
                self.choice("dashboard", "In the inbox only", false),
            ],
            problems,
        }
    }

    fn policy(self, stored: bool, problems: Problems, explain: Explain, replay: Option<Replay>) -> String {
        render(&PolicyPage {
            shell: self.shell(),
            credential: self.t("billing-api"),
            stored,
            mode: self.t("GET and HEAD pass, everything else asks."),
            form: self.policy_form(problems),
            warnings: if stored { Vec::new() } else { vec![self.t("Once saved, methods that are not set to pass will ask.")] },
            explain,
            replay,
        })
    }

    fn policy_pages(self) -> Vec<Rendered> {
        let line = |credential: &str, own: bool, rules: &[&str]| PolicyLine {
            credential: self.t(credential),
            own,
            rules: rules.iter().map(|rule| self.t(rule)).collect(),
        };
        let policies = vec![
            line("billing-api", true, &["GET and HEAD pass", "POST, PUT and PATCH ask", "DELETE is denied", "/v1/refunds always asks", "/v1/keys is never sent", "2 people must approve"]),
            line("mail", false, &["GET and HEAD pass", "everything else asks"]),
            line("search-api", true, &["everything passes"]),
        ];
        let grant = |n: usize| GrantLine {
            id: self.t(["g1", "g2"][n]),
            method: "POST".into(),
            route: self.t(["api.example.com/v1/invoices", "mail.example.com/v3/send"][n]),
            credential: self.t(["billing-api", "mail"][n]),
            agents: self.t(["any agent", "checkout-bot only"][n]),
            by: self.t("ana@example.com"),
            expires: self.at([22, 130][n]),
            used: self.t(["3 times", "never"][n]),
            revocable: true,
        };
        let explained = |outcome, decision: &str, rule: &str, pattern: Option<&str>, detail: &str| Explain {
            method: "POST".into(),
            url: self.t("https://api.example.com/v1/refunds/12"),
            answer: Some(Explained { outcome, decision: self.t(decision), rule: self.t(rule), pattern: pattern.map(|p| self.t(p)), detail: self.t(detail) }),
        };
        let asks = explained(Outcome::Pending, "Needs approval", "the address matches", Some("/v1/refunds"), "An open grant would not change this: an address that always asks wins over grants.");
        let change = |n: usize| ReplayChange {
            count: [212, 31, 4][n],
            method: ["POST", "DELETE", "GET"][n].into(),
            route: self.t(["api.example.com/v1/search", "api.example.com/v1/items/*", "api.example.com/v1/keys"][n]),
            before: [Outcome::Approved, Outcome::Approved, Outcome::Passed][n],
            after: [Outcome::Passed, Outcome::Denied, Outcome::Denied][n],
            rule: self.t(["passes, matches /v1/search", "DELETE is denied", "never sent, matches /v1/keys"][n]),
        };
        let replay = Replay { considered: 1000, changed: 247, changes: (0..3).map(change).collect() };
        let unchanged = Replay { considered: 1, changed: 0, changes: Vec::new() };
        let wrong = self.problems(&[("auto_approve_urls", "line 1: /v1/sea*: a star stands for one whole segment."), ("min_approvals", "At least 1, at most 10."), ("methods", "HEAD follows GET.")]);
        vec![
            ("/app/policies", render(&PoliciesPage { shell: self.shell(), policies: policies.clone(), grants: vec![grant(0), grant(1)] })),
            ("/app/policies/no-grants", render(&PoliciesPage { shell: self.shell(), policies, grants: Vec::new() })),
            ("/app/policies/empty", render(&PoliciesPage { shell: self.shell(), policies: Vec::new(), grants: Vec::new() })),
            ("/app/policies/one", self.policy(true, Problems::default(), Explain::default(), None)),
            ("/app/policies/new", self.policy(false, Problems::default(), Explain::default(), None)),
            ("/app/policies/wrong", self.policy(true, wrong, Explain::default(), None)),
            ("/app/policies/explained", self.policy(true, Problems::default(), asks, None)),
            ("/app/policies/replayed", self.policy(true, Problems::default(), Explain::default(), Some(replay))),
            ("/app/policies/unchanged", self.policy(true, Problems::default(), Explain::default(), Some(unchanged))),
        ]
    }

    fn chart(self, empty: bool) -> StackedBars {
        let names = [("Passed", "chart-1"), ("Approved", "chart-2"), ("Denied", "chart-3"), ("Expired or failed", "chart-4")];
        let series = names.map(|(name, class)| Series { name: self.t(name), class }).to_vec();
        let bucket = |hour: u64| Bucket {
            label: self.t(&format!("Nov 20, {hour:02}:00")),
            counts: vec![(hour * 7 + 11) % 29 + hour, hour * 5 % 9, hour * 3 % 4, hour % 2],
        };
        let buckets = if empty { Vec::new() } else { (0..24).map(bucket).collect() };
        StackedBars::new("Requests by decision", self.t("24 hours to now: 588 requests, 466 passed by policy, 74 approved, 36 denied, 12 expired or failed."), series, buckets)
    }

    fn audit_rows(self) -> Vec<AuditRow> {
        let row = |minutes: i64, event: &str, outcome: Option<Outcome>, actor: &str, subject: &str, request: &str, why: &str, result: &str, txn: bool| AuditRow {
            at: self.at(minutes),
            event: self.t(event),
            outcome,
            actor: self.t(actor),
            subject: self.t(subject),
            request: if request.is_empty() { String::new() } else { self.t(request) },
            why: self.t(why),
            result: self.t(result),
            txn_id: txn.then(|| self.t("a1111111-1111-4111-8111-111111111111")),
        };
        vec![
            row(-1, "Request", Some(Outcome::Passed), "checkout-bot", "billing-api", "GET api.example.com/v1/items", "GET passes", "200 · 84 ms", false),
            row(-3, "Request", Some(Outcome::Pending), "checkout-bot", "billing-api", "POST api.example.com/v1/invoices", "POST needs approval", "", true),
            row(-9, "Decision", Some(Outcome::Approved), "bo@example.com", "billing-api", "POST api.example.com/v1/invoices", "opened a grant for 30 minutes", "200 · 312 ms", true),
            row(-31, "Request", Some(Outcome::Failed), "checkout-bot", "billing-api", "DELETE api.example.com/v1/items/44", "upstream did not answer in 30 s", "no answer", true),
            row(-64, "Decision", Some(Outcome::Denied), "bo@example.com", "billing-api", "POST api.example.com/v1/refunds", "“Wrong customer, ask again with cus_8821”", "", true),
            row(-90, "Secret replaced", None, "ana@example.com", "mail", "", "version 3", "", false),
            row(-130, "Request", Some(Outcome::Expired), "research-crawler", "search-api", "PUT api.example.com/v1/items/12/price-list/2026/spring/entries", "nobody decided in time", "", true),
            row(-200, "Signed in", None, "ana@example.com", "", "", "password", "", false),
        ]
    }

    fn audit(self, rows: Vec<AuditRow>, active: bool, empty_chart: bool) -> String {
        let any = |label: &str, more: &[&str]| {
            let mut choices = vec![Choice { value: String::new(), label: label.into(), chosen: true }];
            choices.extend(more.iter().map(|name| self.choice(name, name, false)));
            choices
        };
        render(&AuditPage {
            shell: self.shell(),
            filter: AuditFilter {
                q: if active { self.t("refund") } else { String::new() },
                agents: any("Any agent", &["checkout-bot", "default-agent"]),
                credentials: any("Any credential", &["billing-api", "mail"]),
                outcomes: any("Any outcome", &["Passed", "Approved", "Denied"]),
                events: any("Any event", &["Requests", "Decisions", "Changes", "Sign-ins"]),
                from: String::new(),
                to: String::new(),
                active,
            },
            chart: self.chart(empty_chart),
            summary: self.t("events 1 to 50"),
            newer: active.then(|| "/app/audit?after=51".into()),
            older: Some("/app/audit?before=1&q=%22".into()),
            turn_order: "/app/audit?order=oldest".into(),
            newest_first: true,
            export_csv: "/app/audit/export.csv?q=".into(),
            export_jsonl: "/app/audit/export.jsonl?q=".into(),
            rows,
        })
    }

    fn settings(self, autonomous: bool, audit: AuditHealth) -> String {
        let fact = |name: &str, value: &str, set_by: &str| Fact { name: self.t(name), value: self.t(value), set_by: self.t(set_by) };
        render(&SettingsPage {
            shell: self.shell(),
            autonomous,
            following: self.t("2 credentials"),
            facts: vec![
                fact("Base URL", "http://localhost:8700", "PX_BASE_URL"),
                fact("Approval window", "1 hour", "PX_APPROVAL_TIMEOUT_SECS"),
                fact("Upstream time limit", "30 seconds", "PX_FORWARD_TIMEOUT_SECS"),
                fact("Database", "SQLite", "PX_DATABASE_URL"),
                fact("Version", "0.1.0", ""),
            ],
            audit,
        })
    }

    fn record(self) -> Vec<Rendered> {
        let whole = AuditHealth::Whole { rows: self.t("12,345 events"), at: self.at(-40) };
        let damaged = AuditHealth::Damaged { finding: self.t("event 8,812 was changed"), at: self.at(-40) };
        vec![
            ("/app/audit", self.audit(self.audit_rows(), false, false)),
            ("/app/audit/nothing", self.audit(Vec::new(), true, false)),
            ("/app/audit/empty", self.audit(Vec::new(), false, true)),
            ("/app/settings", self.settings(false, whole)),
            ("/app/settings/damaged", self.settings(true, damaged)),
            ("/app/settings/unchecked", self.settings(false, AuditHealth::Unchecked)),
        ]
    }
}
