//! Agents, credentials and people.

use pyxis_dashboard::view::account::{AccountPage, Passkey, Token, TokenForm, TokenShownPage};
use pyxis_dashboard::view::agents::{
    AgentForm, AgentKeyPage, AgentLine, AgentPage, AgentsPage, NewAgentPage,
};
use pyxis_dashboard::view::connect::ArrivedPage;
use pyxis_dashboard::view::credentials::{
    CredentialForm, CredentialKind, CredentialLine, CredentialPage, CredentialsPage, ImportPage,
    ImportedLine, NewCredentialPage, ProbeResult,
};
use pyxis_dashboard::view::people::{
    GrantRow, MemberPage, NewPersonPage, PeoplePage, Person, PersonLinkPage,
};
use pyxis_dashboard::view::{Choice, Problems};
use pyxis_dashboard::view::{Order, Search, SortLink};

use super::{Rendered, Sample, render};

/// Headings of several lists.
pub(super) fn sorted(path: &str) -> Vec<SortLink> {
    let names = ["name", "last_seen", "email", "gives", "last_used", "when", "who", "host", "requests"];
    let orders = [Some(Order::Descending), None, Some(Order::Ascending)].into_iter().cycle();
    let column = |(name, order)| SortLink { name, href: format!("{path}?sort={name}"), order };
    names.into_iter().zip(orders).map(column).collect()
}

impl Sample {
    fn agent(self, n: usize) -> AgentLine {
        let names = ["checkout-bot", "default-agent", "research-crawler"];
        let usage = ["12 of 100 this hour", "0 this hour, no limit", "340 this hour, no limit"];
        let scope = ["billing-api, mail", "all credentials", "search-api"];
        AgentLine {
            id: self.t([
                "0198c6a2-0000-7000-8000-000000000001",
                "0198c6a2-0000-7000-8000-000000000002",
                "0198c6a2-0000-7000-8000-000000000003",
            ][n]),
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
            max_pending: self.t("100"),
            all_credentials: false,
            credentials: ["billing-api", "mail", "search-api"]
                .map(|n| self.choice(n, n, n != "search-api"))
                .to_vec(),
            problems,
        }
    }

    fn credential(self, n: usize) -> CredentialLine {
        CredentialLine {
            name: self.t(["billing-api", "mail", "search-api"][n]),
            description: if n == 2 {
                String::new()
            } else {
                self.t(["Invoices and refunds", "Transactional mail"][n])
            },
            kind: self.t(["Bearer token", "Header X-Api-Key", "Query parameter key"][n]),
            allowed_hosts: if n == 2 {
                Vec::new()
            } else {
                vec![self.t("api.example.com"), self.t("*.files.example.org")]
            },
            policy: self.t([
                "3 rules, 2 approvals",
                "Gated: GET and HEAD are allowed",
                "Gated: GET and HEAD are allowed",
            ][n]),
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
            problems,
            ..CredentialForm::default()
        }
    }

    fn credential_page(self, n: usize, verified: Option<ProbeResult>) -> String {
        render(&CredentialPage {
            shell: self.shell(),
            credential: self.credential(n),
            kind: CredentialKind::from_name("bearer").unwrap_or(CredentialKind::USUAL),
            version: 3,
            created: self.at(-90_000),
            secret_replaced: self.at(-4_000),
            agents: self.t("all agents"),
            form: self.credential_form(Problems::default()),
            connectable: n == 0,
            disconnected: n == 2,
            wide_hosts: if n == 1 { vec![(self.t("*.co.uk"), self.t("co.uk"))] } else { Vec::new() },
            granted_scope: (n == 2).then(|| self.t("read")),
            redirect_uri: String::new(),
            warnings: Vec::new(),
            probe: self.t("https://api.example.com/v1/me"),
            verified,
        })
    }

    fn import(self, lines: Option<Vec<ImportedLine>>) -> String {
        render(&ImportPage { shell: self.shell(), lines, problems: Problems::default() })
    }

    fn imported(self) -> Vec<ImportedLine> {
        let line = |number, variable, credential, outcome, stored| ImportedLine {
            number,
            variable: self.t(variable),
            credential: self.t(credential),
            outcome: self.t(outcome),
            stored,
        };
        vec![
            line(1, "OPENAI_API_KEY", "openai", "stored", true),
            line(4, "", "", "sets no variable, left out", false),
        ]
    }

    fn new_credential(self, kind: &str) -> String {
        let form = CredentialForm::default();
        render(&NewCredentialPage {
            shell: self.shell(),
            kind: CredentialKind::from_name(kind).unwrap_or(CredentialKind::USUAL),
            form,
            redirect_uri: self.t("https://pyxis.example.com/app/oauth/callback"),
            search: self.t("git"),
            presets: vec![(self.t("github"), self.t("GitHub"), self.t("api.github.com"))],
        })
    }

    pub(super) fn access(self) -> Vec<Rendered> {
        let mut pages = self.agent_pages();
        pages.extend(self.credential_pages());
        pages
    }

    fn agent_pages(self) -> Vec<Rendered> {
        let wrong_agent = self.problems(&[
            ("name", "An agent of this name exists. Choose another name."),
            ("rate_limit_per_hour", "Not a whole number."),
            ("credential", "No such credential."),
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
            render(&AgentPage {
                shell: self.told(true, "Changes saved."),
                agent: self.agent(n),
                created: self.at(-90_000),
                form,
            })
        };
        let agents = (0..3).map(|n| self.agent(n)).collect();
        vec![
            (
                "/app/agents",
                render(&AgentsPage {
                    shell: self.shell(),
                    search: self.search("/app/agents"),
                    agents,
                    first_request: self.curl(),
                }),
            ),
            (
                "/app/agents/empty",
                render(&AgentsPage {
                    shell: self.shell(),
                    search: Search::default(),
                    agents: Vec::new(),
                    first_request: self.curl(),
                }),
            ),
            (
                "/app/new/agent",
                render(&NewAgentPage { shell: self.shell(), form: self.agent_form(Problems::default()) }),
            ),
            (
                "/app/new/agent/wrong",
                render(&NewAgentPage { shell: self.shell(), form: self.agent_form(wrong_agent) }),
            ),
            ("/app/agents/one", agent_page(0)),
            ("/app/agents/disabled", agent_page(2)),
            ("/app/agents/key", key(false)),
            ("/app/agents/rotated", key(true)),
        ]
    }

    fn credential_pages(self) -> Vec<Rendered> {
        let wrong_credential = self.problems(&[
            ("name", "A credential of this name exists."),
            ("allowed_hosts", "line 2: * may only stand first, as in *.example.com."),
            ("secret", "The secret is empty."),
            ("header_name", "line 1: Host cannot be set."),
            ("description", "Too long."),
        ]);
        let good = ProbeResult { good: true, text: self.t("200 from api.example.com in 84 ms") };
        let bad = ProbeResult {
            good: false,
            text: self.t("401 from api.example.com: the API does not take this secret"),
        };
        let retry = self.credential_form(wrong_credential);
        vec![
            (
                "/app/credentials",
                render(&CredentialsPage {
                    shell: self.shell(),
                    search: self.search("/app/credentials"),
                    credentials: (0..3).map(|n| self.credential(n)).collect(),
                }),
            ),
            (
                "/app/credentials/empty",
                render(&CredentialsPage {
                    shell: self.shell(),
                    search: Search::default(),
                    credentials: Vec::new(),
                }),
            ),
            ("/app/new/credential", self.new_credential("bearer")),
            ("/app/new/credential/header", self.new_credential("header")),
            ("/app/new/credential/basic", self.new_credential("basic")),
            ("/app/new/credential/query", self.new_credential("query")),
            ("/app/new/credential/cookie", self.new_credential("cookie")),
            ("/app/new/credential/sidecar", self.new_credential("sidecar")),
            ("/app/new/credential/signing", self.new_credential("signing_key")),
            ("/app/new/credential/oauth1", self.new_credential("oauth1")),
            ("/app/new/credential/aws", self.new_credential("aws_sigv4")),
            ("/app/new/credential/hmac", self.new_credential("hmac")),
            ("/app/new/credential/mtls", self.new_credential("mtls")),
            ("/app/new/credential/account", self.new_credential("oauth2_refresh")),
            ("/app/new/credential/client", self.new_credential("oauth2_client_credentials")),
            ("/app/new/credential/assertion", self.new_credential("jwt_bearer")),
            ("/app/new/credential/github", self.new_credential("github_app")),
            ("/app/import/credentials", self.import(None)),
            ("/app/import/credentials/done", self.import(Some(self.imported()))),
            (
                "/app/oauth/callback",
                render(&ArrivedPage { shell: self.shell(), state: self.t("s"), code: self.t("c") }),
            ),
            (
                "/app/new/credential/wrong",
                render(&NewCredentialPage {
                    shell: self.shell(),
                    kind: CredentialKind::from_name("header").unwrap_or(CredentialKind::USUAL),
                    form: retry,
                    redirect_uri: String::new(),
                    search: String::new(),
                    presets: Vec::new(),
                }),
            ),
            ("/app/credentials/one", self.credential_page(0, None)),
            ("/app/credentials/verified", self.credential_page(0, Some(good))),
            ("/app/credentials/refused", self.credential_page(2, Some(bad))),
        ]
    }

    pub(super) fn people_pages(self) -> Vec<Rendered> {
        vec![
            ("/app/people", self.people(true)),
            ("/app/people/member", self.member(true)),
            ("/app/people/member/empty", self.member(false)),
            ("/app/account", self.account(true)),
            ("/app/account/empty", self.account(false)),
            (
                "/app/account/token",
                render(&TokenShownPage {
                    shell: self.shell(),
                    name: self.t("ci"),
                    token: self.t("px_pat_5fJ2sampleOnly"),
                    curl: self.curl(),
                }),
            ),
            ("/app/people/alone", self.people(false)),
            (
                "/app/new/person",
                render(&NewPersonPage {
                    shell: self.shell(),
                    email: self.t("bo@example"),
                    roles: self.roles(),
                    problems: self
                        .problems(&[("email", "Not an e-mail address."), ("role", "No such role.")]),
                }),
            ),
            (
                "/app/people/link",
                render(&PersonLinkPage {
                    shell: self.shell(),
                    email: self.t("bo@example.com"),
                    link: self.t("http://localhost:8700/link/5fJ2sampleOnly"),
                    valid: "48 hours".into(),
                }),
            ),
        ]
    }

    pub(super) fn search(self, path: &str) -> Search {
        Search {
            path: path.to_owned(),
            q: self.t("ana"),
            summary: self.t("4 of 120"),
            before: Some(format!("{path}?page=1")),
            next: Some(format!("{path}?page=3")),
            kept: vec![("sort", self.t("-name"))],
            all: format!("{path}?sort=-name"),
            columns: sorted(path),
            csv: Some(format!("{path}?export=all")),
        }
    }

    fn member(self, some: bool) -> String {
        let row =
            |n: usize| GrantRow { name: self.t(["billing-api", "mail"][n]), approve: n == 0, policy: n == 1 };
        render(&MemberPage {
            shell: self.shell(),
            id: self.t("u3"),
            email: self.t("mem@example.com"),
            search: if some { self.search("/app/people/u3") } else { Search::default() },
            rows: (0..if some { 2 } else { 0 }).map(row).collect(),
        })
    }

    fn account(self, some: bool) -> String {
        let passkeys = vec![
            Passkey {
                id: self.t("p1"),
                name: self.t("Laptop"),
                added: self.at(-9000),
                used: Some(self.at(-9)),
            },
            Passkey { id: self.t("p2"), name: self.t("Phone"), added: self.at(-90), used: None },
        ];
        let token = |over: bool| Token {
            id: self.t(if over { "t1" } else { "t2" }),
            name: self.t("ci"),
            hint: self.t("px_pat_5fJ2sa…"),
            scopes: "px:approve".into(),
            used: (!over).then(|| self.at(-3)),
            expires: over.then(|| self.at(-60)),
            over,
        };
        render(&AccountPage {
            shell: pyxis_dashboard::view::Layout { manager: false, ..self.shell() },
            search: if some { self.search("/app/account") } else { Search::default() },
            passkeys: if some { passkeys } else { Vec::new() },
            tokens: if some { vec![token(false), token(true)] } else { Vec::new() },
            grants: if some { vec![self.t("billing-api: decide requests")] } else { Vec::new() },
            token_form: TokenForm {
                name: self.t("ci"),
                scopes: vec![self.choice(
                    "px:approve",
                    "px:approve: read and decide approval requests",
                    true,
                )],
                lifetimes: vec![self.choice("90", "90 days", true)],
                problems: self.problems(&[("name", "Taken."), ("scopes", "Name one.")]),
            },
            has_password: some,
            password_problems: self.problems(&[
                ("password", "Not it."),
                ("new_password", "Too short."),
                ("new_password_again", "They differ."),
            ]),
        })
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
            grants: self.t(["everything", "everything", "3 credentials", "nothing yet"][n]),
            grants_page: (n > 1).then(|| "/app/people/u3".to_owned()),
        };
        let people = (0..if several { 4 } else { 1 }).map(person).collect();
        let search = self.search("/app/people");
        render(&PeoplePage { shell: self.shell(), alone: !several, search, people })
    }
}
