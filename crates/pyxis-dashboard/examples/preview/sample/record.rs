//! Audit and settings.

use pyxis_dashboard::chart::spark::Spark;
use pyxis_dashboard::chart::{Bucket, Series, StackedBars};
use pyxis_dashboard::view::audit::{AuditFilter, AuditPage, AuditRow};
use pyxis_dashboard::view::settings::{AuditHealth, Fact, SettingsPage};
use pyxis_dashboard::view::usage::{RangeLink, UsageLine, UsagePage, UsagePart};
use pyxis_dashboard::view::{Choice, DecisionBadge, Search};

use super::access::sorted;
use super::{Rendered, Sample, render};

impl Sample {
    fn chart(self, empty: bool) -> StackedBars {
        let names = [
            ("Passed", "chart-1"),
            ("Approved", "chart-2"),
            ("Denied", "chart-3"),
            ("Expired or failed", "chart-4"),
        ];
        let series = names.map(|(name, class)| Series { name: self.t(name), class }).to_vec();
        let bucket = |hour: u64| Bucket {
            label: self.t(&format!("Nov 20, {hour:02}:00")),
            counts: vec![(hour * 7 + 11) % 29 + hour, hour * 5 % 9, hour * 3 % 4, hour % 2],
        };
        let buckets = if empty { Vec::new() } else { (0..24).map(bucket).collect() };
        StackedBars::new(
            "Requests by decision",
            self.t(
                "24 hours to now: 588 requests, 466 allowed, 74 approved, 36 denied, 12 expired or failed.",
            ),
            series,
            buckets,
        )
    }

    fn audit_rows(self) -> Vec<AuditRow> {
        let row = |minutes: i64,
                   event: &str,
                   outcome: Option<DecisionBadge>,
                   actor: &str,
                   subject: &str,
                   request: &str,
                   why: &str,
                   result: &str,
                   txn: bool| AuditRow {
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
            row(
                -1,
                "Request",
                Some(DecisionBadge::Passed),
                "checkout-bot",
                "billing-api",
                "GET api.example.com/v1/items",
                "GET passes",
                "200 · 84 ms",
                false,
            ),
            row(
                -3,
                "Request",
                Some(DecisionBadge::Pending),
                "checkout-bot",
                "billing-api",
                "POST api.example.com/v1/invoices",
                "POST needs approval",
                "",
                true,
            ),
            row(
                -9,
                "Decision",
                Some(DecisionBadge::Approved),
                "bo@example.com",
                "billing-api",
                "POST api.example.com/v1/invoices",
                "opened a grant for 30 minutes",
                "200 · 312 ms",
                true,
            ),
            row(
                -31,
                "Request",
                Some(DecisionBadge::Failed),
                "checkout-bot",
                "billing-api",
                "DELETE api.example.com/v1/items/44",
                "upstream did not answer in 30 s",
                "no answer",
                true,
            ),
            row(
                -64,
                "Decision",
                Some(DecisionBadge::Denied),
                "bo@example.com",
                "billing-api",
                "POST api.example.com/v1/refunds",
                "“Wrong customer, ask again with cus_8821”",
                "",
                true,
            ),
            row(-90, "Secret replaced", None, "ana@example.com", "mail", "", "version 3", "", false),
            row(
                -130,
                "Request",
                Some(DecisionBadge::Expired),
                "research-crawler",
                "search-api",
                "PUT api.example.com/v1/items/12/price-list/2026/spring/entries",
                "no decision in time",
                "",
                true,
            ),
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
                event_groups: any("Any event", &["Requests", "People", "Scoring"]),
                events: vec![self.choice("agent.created", "Agent added", false)],
                from: String::new(),
                to: String::new(),
                sort: if active { self.t("who") } else { String::new() },
                active,
            },
            search: Search { columns: sorted("/app/audit"), ..Search::default() },
            chart: self.chart(empty_chart),
            summary: self.t("events 1 to 50"),
            newest: active.then(|| "/app/audit".into()),
            older: Some("/app/audit?before=1&q=%22".into()),
            export_csv: "/app/audit/export.csv?q=".into(),
            export_jsonl: "/app/audit/export.jsonl?q=".into(),
            rows,
        })
    }

    fn settings(self, autonomous: bool, audit: AuditHealth) -> String {
        let fact = |name: &str, value: &str, set_by: &str| Fact {
            name: self.t(name),
            value: self.t(value),
            set_by: self.t(set_by),
        };
        render(&SettingsPage {
            shell: self.shell(),
            autonomous,
            window: String::new(),
            server_window: "1 hour".into(),
            problems: self.problems(&[("approval_timeout_minutes", "From 1 second to 7 days.")]),
            following: self.t("2 credentials"),
            facts: vec![
                fact("Base URL", "http://localhost:8700", "PX_BASE_URL"),
                fact("Approval window", "1 hour", "PX_APPROVAL_TIMEOUT_SECS"),
                fact("Upstream timeout", "30 seconds", "PX_FORWARD_TIMEOUT_SECS"),
                fact("Database", "SQLite", "PX_DATABASE_URL"),
                fact("Version", "0.1.0", ""),
            ],
            audit,
        })
    }

    fn usage_line(self, n: u64, name: &str) -> UsageLine {
        let bars: Vec<[u64; 2]> = (0..24).map(|hour| [(hour * 7 + n * 5) % 13, hour * n % 3]).collect();
        UsageLine {
            name: self.t(name),
            page: (n < 2).then(|| "/app/agents/0198c6a2-0000-7000-8000-000000000001".to_owned()),
            gone: (n == 2).then_some("Removed"),
            requests: self.t("1,204"),
            admitted: self.t("1,180"),
            refused: self.t("24"),
            spark: Spark::new(self.t("Requests over time, highest 15 at 2026-01-31 09:00"), &bars, 15),
        }
    }

    fn usage_part(self, id: &'static str, noun: &'static str, empty: bool) -> UsagePart {
        let names = ["checkout-bot", "default-agent", "research-crawler"];
        UsagePart {
            noun,
            icon: "agent",
            meaning: "Admitted: allowed or sent for approval.",
            command: self.curl(),
            requests: self.t("3,612"),
            admitted: self.t("3,540"),
            refused: self.t("72"),
            chart: self.chart(empty).named(id),
            search: self.search("/app/usage"),
            lines: (0..).zip(names).map(|(n, name)| self.usage_line(n, name)).collect(),
        }
    }

    fn usage_page(self, empty: bool) -> String {
        let range = |(label, href, here): (&str, &str, bool)| RangeLink {
            label: label.to_owned(),
            href: href.to_owned(),
            here,
        };
        let ranges = [("24 hours", "/app/usage?range=24h", true), ("7 days", "/app/usage?range=7d", false)];
        render(&UsagePage {
            shell: self.shell(),
            ranges: ranges.map(range).to_vec(),
            span: "24 hours".to_owned(),
            search: Search { path: "/app/usage".to_owned(), ..Search::default() },
            parts: vec![self.usage_part("agents", "Agent", empty), self.usage_part("keys", "API key", empty)],
        })
    }

    pub(super) fn record(self) -> Vec<Rendered> {
        let whole = AuditHealth::Whole { rows: self.t("12,345 events"), at: self.at(-40) };
        let damaged = AuditHealth::Damaged { finding: self.t("event 8,812 was changed"), at: self.at(-40) };
        vec![
            ("/app/audit", self.audit(self.audit_rows(), false, false)),
            ("/app/audit/nothing", self.audit(Vec::new(), true, false)),
            ("/app/audit/empty", self.audit(Vec::new(), false, true)),
            ("/app/usage", self.usage_page(false)),
            ("/app/usage/empty", self.usage_page(true)),
            ("/app/settings", self.settings(false, whole)),
            ("/app/settings/damaged", self.settings(true, damaged)),
            ("/app/settings/unchecked", self.settings(false, AuditHealth::Unchecked)),
        ]
    }
}
