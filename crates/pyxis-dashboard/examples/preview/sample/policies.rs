//! Policies, grants, explain and replay.

use pyxis_dashboard::view::policies::{
    Explain, GrantLine, MethodRule, PoliciesPage, PolicyExplanation, PolicyForm, PolicyLine, PolicyPage,
    ReplayChange, ReplayView, StagedLine,
};
use pyxis_dashboard::view::staged::{Difference, StagedPage};
use pyxis_dashboard::view::{Choice, DecisionBadge, Problems, Search};

use super::{Rendered, Sample, render};

impl Sample {
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
            passkey_required: true,
            approval_timeout_minutes: String::new(),
            channels: vec![
                self.choice("agent_reflected", "Agent's response and inbox", true),
                self.choice("dashboard", "Inbox and browser notifications", false),
                Choice { value: "chat_primary".into(), label: self.t("Telegram and inbox"), chosen: false },
                Choice { value: "chat_secondary".into(), label: self.t("Matrix and inbox"), chosen: false },
            ],
            rooms: self.room_fields("blank: the workspace's"),
            problems,
        }
    }

    fn policy(
        self,
        stored: bool,
        problems: Problems,
        explain: Explain,
        replay: Option<ReplayView>,
    ) -> String {
        render(&PolicyPage {
            shell: self.shell(),
            credential: self.t("billing-api"),
            stored,
            mode: self.t("GET and HEAD are allowed, everything else needs approval."),
            form: self.policy_form(problems),
            warnings: if stored {
                Vec::new()
            } else {
                vec![self.t("Nothing is allowed automatically. Every request needs approval.")]
            },
            explain,
            replay,
        })
    }

    fn staged(self, mine: bool, has_passkey: bool) -> String {
        let changes = vec![
            Difference {
                field: "Allowed URLs".into(),
                removed: vec![self.t("/v1/old")],
                added: vec![self.t("/v1/search"), self.t("/v1/find")],
            },
            Difference {
                field: "Reason required".into(),
                removed: vec!["no".into()],
                added: vec!["yes".into()],
            },
        ];
        render(&StagedPage {
            shell: self.shell(),
            id: self.t("s1"),
            credential: self.t("billing-api"),
            by: self.t("mem@example.com"),
            at: self.at(-20),
            expires: self.at(1400),
            mine,
            has_passkey,
            outdated: !mine,
            changes: if has_passkey { changes } else { Vec::new() },
        })
    }

    pub(super) fn policy_pages(self) -> Vec<Rendered> {
        let line = |credential: &str, own: bool, rules: &[&str]| PolicyLine {
            credential: self.t(credential),
            own,
            rules: rules.iter().map(|rule| self.t(rule)).collect(),
        };
        let policies = vec![
            line(
                "billing-api",
                true,
                &[
                    "GET and HEAD are allowed",
                    "POST, PUT and PATCH need approval",
                    "DELETE is denied",
                    "/v1/refunds always needs approval",
                    "/v1/keys is denied",
                    "2 people must approve",
                ],
            ),
            line("mail", false, &["GET and HEAD are allowed", "everything else needs approval"]),
            line("search-api", true, &["everything is allowed"]),
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
            answer: Some(PolicyExplanation {
                outcome,
                decision: self.t(decision),
                rule: self.t(rule),
                pattern: pattern.map(|p| self.t(p)),
                detail: self.t(detail),
            }),
        };
        let asks = explained(
            DecisionBadge::Pending,
            "Needs approval",
            "the URL matches",
            Some("/v1/refunds"),
            "An open grant does not change this: the rule overrides grants.",
        );
        let change = |n: usize| ReplayChange {
            count: [212, 31, 4][n],
            method: ["POST", "DELETE", "GET"][n].into(),
            route: self.t([
                "api.example.com/v1/search",
                "api.example.com/v1/items/*",
                "api.example.com/v1/keys",
            ][n]),
            before: [DecisionBadge::Approved, DecisionBadge::Approved, DecisionBadge::Passed][n],
            after: [DecisionBadge::Passed, DecisionBadge::Denied, DecisionBadge::Denied][n],
            rule: self.t(["allowed, matches /v1/search", "DELETE is denied", "denied, matches /v1/keys"][n]),
        };
        let replay = ReplayView { considered: 1000, changed: 247, changes: (0..3).map(change).collect() };
        let unchanged = ReplayView { considered: 1, changed: 0, changes: Vec::new() };
        let wrong = self.problems(&[
            ("auto_approve_urls", "line 1: /v1/sea*: a star stands for one whole segment."),
            ("min_approvals", "At least 1, at most 10."),
            ("methods", "HEAD follows GET."),
        ]);
        vec![
            (
                "/app/policies",
                render(&PoliciesPage {
                    shell: self.shell(),
                    search: self.search("/app/policies"),
                    policies: policies.clone(),
                    staged_search: self.search("/app/policies"),
                    staged: vec![StagedLine {
                        id: self.t("s1"),
                        credential: self.t("billing-api"),
                        by: self.t("mem@example.com"),
                        at: self.at(-20),
                    }],
                    grant_search: self.search("/app/policies"),
                    grants: vec![grant(0), grant(1)],
                }),
            ),
            (
                "/app/policies/no-grants",
                render(&PoliciesPage {
                    shell: self.shell(),
                    search: Search::default(),
                    policies,
                    staged_search: Search::default(),
                    staged: Vec::new(),
                    grant_search: Search::default(),
                    grants: Vec::new(),
                }),
            ),
            (
                "/app/policies/empty",
                render(&PoliciesPage {
                    shell: self.shell(),
                    search: Search::default(),
                    policies: Vec::new(),
                    staged_search: Search::default(),
                    staged: Vec::new(),
                    grant_search: Search::default(),
                    grants: Vec::new(),
                }),
            ),
            ("/app/staged/mine", self.staged(true, true)),
            ("/app/staged/none", self.staged(true, false)),
            ("/app/staged/other", self.staged(false, true)),
            ("/app/policies/one", self.policy(true, Problems::default(), Explain::default(), None)),
            ("/app/policies/new", self.policy(false, Problems::default(), Explain::default(), None)),
            ("/app/policies/wrong", self.policy(true, wrong, Explain::default(), None)),
            ("/app/policies/explained", self.policy(true, Problems::default(), asks, None)),
            (
                "/app/policies/replayed",
                self.policy(true, Problems::default(), Explain::default(), Some(replay)),
            ),
            (
                "/app/policies/unchanged",
                self.policy(true, Problems::default(), Explain::default(), Some(unchanged)),
            ),
        ]
    }
}
