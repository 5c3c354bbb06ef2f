//! Scorers, API keys, the explorer, the catalogue and issuers.

use pyxis_core::decimal::Decimal;
use pyxis_dashboard::chart::histogram::{Bin, Histogram};
use pyxis_dashboard::chart::meter::Meter;
use pyxis_dashboard::chart::{Bucket, Series, StackedBars};
use pyxis_dashboard::view::api_keys::{
    ApiKeyForm, ApiKeyLine, ApiKeyPage, ApiKeyShownPage, ApiKeysPage, HistoryAccess, HistoryRequest,
    NewApiKeyPage,
};
use pyxis_dashboard::view::explorer::{ExplorerPage, ExplorerResult, StampRow, StampStatus};
use pyxis_dashboard::view::scorers::{
    Freshness, NewScorerPage, Preview, Reach, ScorerForm, ScorerLine, ScorerPage, ScorersPage, WeightGroup,
    WeightRow,
};
use pyxis_dashboard::view::{DecisionBadge, Problems, Search};

use super::access::sorted;
use super::{Rendered, Sample, render};

const ADDRESS: &str = "0x8f3b2c1de4a5968770123456789abcdef0123456";

impl Sample {
    fn ask(self) -> String {
        self.t("curl http://localhost:8700/v2/stamps/1/score/0x8f3b2c1de4a5968770123456789abcdef0123456 \\\n  -H 'X-API-KEY: <API key>'")
    }

    fn bring(self) -> String {
        self.t("curl -X POST http://localhost:8700/v2/stamps/0x8f3b2c1de4a5968770123456789abcdef0123456 \\\n  -H 'X-API-KEY: <API key that may write>' \\\n  -d @credentials.json")
    }

    fn scorer_line(self, n: usize) -> ScorerLine {
        ScorerLine {
            id: self.t(["1", "2"][n]),
            name: self.t(["Airdrop", "Forum, lenient"][n]),
            threshold: self.t(["20", "7.5"][n]),
            stamps: self.t(["51 Stamps, together 167.482", "12 Stamps, together 31"][n]),
            addresses: self.t(["1,204", "88"][n]),
            created: self.at([-90_000, -4_000][n]),
        }
    }

    fn weight_row(
        self,
        stamp: &str,
        says: &str,
        weight: &str,
        stored: Option<&str>,
        wrong: bool,
    ) -> WeightRow {
        WeightRow {
            stamp: self.t(stamp),
            description: if says.is_empty() { String::new() } else { self.t(says) },
            weight: self.t(weight),
            stored: stored.map(|stored| self.t(stored)),
            problem: wrong.then(|| self.t("Not a number like 1.5.")),
        }
    }

    fn scorer_form(self, wrong: bool) -> ScorerForm {
        let group = |name: &str, id: Option<&str>, rows: Vec<WeightRow>| WeightGroup {
            icon: id.map(|id| format!("/assets/stamps/{id}.svg")),
            name: self.t(name),
            rows,
        };
        let row = |stamp: &str, says: &str, weight: &str| self.weight_row(stamp, says, weight, None, false);
        let problems = if wrong {
            self.problems(&[
                ("threshold", "Not a number like 20."),
                ("name", "Taken."),
                ("extra_name", "Not a name."),
            ])
        } else {
            Problems::default()
        };
        ScorerForm {
            name: self.t("Airdrop"),
            threshold: self.t("20"),
            revision: self.t("7"),
            platforms: vec![
                group(
                    "Discord",
                    Some("Discord"),
                    vec![row("Discord", "Holds an established, active Discord account", "0.516")],
                ),
                group(
                    "Ethereum",
                    Some("ETH"),
                    vec![
                        self.weight_row(
                            "ETHScore#50",
                            "Looks like a person with at least 50 of 100",
                            "12",
                            Some("16.021"),
                            wrong,
                        ),
                        row("ETHScore#75", "Looks like a person with at least 75 of 100", "2.399"),
                        row("ETHScore#90", "Looks like a person with at least 90 of 100", "2.926"),
                        row("ETHnumTransactions#100", "Sent at least 100 transactions", "0.21"),
                    ],
                ),
                group("Google", Some("Google"), vec![row("Google", "Holds a Google account", "0.525")]),
                group(
                    "Government ID",
                    Some("HumanIdKyc"),
                    vec![row(
                        "HolonymGovIdProvider",
                        "Showed a government document, which stays private",
                        "16.026",
                    )],
                ),
                group(
                    "X",
                    Some("X"),
                    vec![self.weight_row("X", "Holds an X account", "3.2", Some("no weight"), false)],
                ),
                group("Not in the catalogue", None, vec![row("BinanceBABT", "", "16.021")]),
            ],
            extra_name: String::new(),
            extra_weight: String::new(),
            changed: wrong.then(|| self.t("2 Stamps differ")),
            problems,
        }
    }

    fn preview(self) -> Preview {
        let units = |text: &str| text.parse::<Decimal>().expect("a decimal");
        let bin = |n: u32| {
            let at = |n: u32| Decimal::from_units(i64::from(n) * 200_000);
            let (before, after) = (u64::from(n * 37 % 29 + 8), u64::from(n * 31 % 27 + 9));
            Bin { from: at(n), to: at(n + 1), before, after }
        };
        let description = self.t("500 addresses, 243 pass now and 262 with this draft.");
        Preview {
            sample: self.t("500 stored addresses"),
            any: true,
            before: self.t("243 (48 %)"),
            after: self.t("262 (52 %)"),
            gained: self.t("31"),
            lost: self.t("12"),
            histogram: Histogram::new(description, (0..19).map(bin).collect(), units("20"), units("18.5")),
        }
    }

    fn reach(self, alone: bool) -> Reach {
        Reach {
            sum: self.t("53.302"),
            weighed: self.t("11 Stamps have a weight"),
            threshold: self.t("20"),
            alone: if alone { vec![(self.t("CleanHands"), self.t("21"))] } else { Vec::new() },
            together: (!alone).then(|| {
                self.t("At least 2 Stamps, for example HolonymGovIdProvider + BinanceBABT = 32.047.")
            }),
            warning: alone.then(|| self.t("One Stamp alone is enough.")),
        }
    }

    fn scorer(self, wrong: bool, overtaken: bool, preview: Option<Preview>) -> String {
        render(&ScorerPage {
            shell: self.shell(),
            id: self.t("1"),
            name: self.t("Airdrop"),
            threshold: self.t("20"),
            addresses: self.t("1,204 addresses"),
            created: self.at(-90_000),
            form: self.scorer_form(wrong),
            reach: self.reach(overtaken),
            overtaken,
            preview,
            freshness: if wrong {
                Freshness::Current
            } else {
                Freshness::Outdated(self.t("12 of 1,204 stored scores"))
            },
            ask: self.ask(),
        })
    }

    pub(super) fn scorers(self) -> Vec<Rendered> {
        let new = |problems| {
            render(&NewScorerPage {
                shell: self.shell(),
                name: self.t("Airdrop"),
                threshold: self.t("20"),
                empty: false,
                problems,
            })
        };
        let nobody = Preview { any: false, ..self.preview() };
        vec![
            (
                "/app/scorers",
                render(&ScorersPage {
                    shell: self.shell(),
                    search: self.search("/app/scorers"),
                    scorers: (0..2).map(|n| self.scorer_line(n)).collect(),
                    ask: self.ask(),
                }),
            ),
            (
                "/app/scorers/empty",
                render(&ScorersPage {
                    shell: self.shell(),
                    search: Search::default(),
                    scorers: Vec::new(),
                    ask: self.ask(),
                }),
            ),
            ("/app/new/scorer", new(Problems::default())),
            (
                "/app/new/scorer/wrong",
                new(self.problems(&[
                    ("name", "Taken."),
                    ("threshold", "Not a number."),
                    ("start", "Choose one."),
                ])),
            ),
            ("/app/scorers/one", self.scorer(false, false, None)),
            ("/app/scorers/wrong", self.scorer(true, false, None)),
            ("/app/scorers/overtaken", self.scorer(false, true, None)),
            ("/app/scorers/previewed", self.scorer(false, false, Some(self.preview()))),
            ("/app/scorers/unscored", self.scorer(false, false, Some(nobody))),
        ]
    }

    fn api_key(self, n: usize) -> ApiKeyLine {
        ApiKeyLine {
            id: self.t(["k1", "k2", "k3"][n]),
            name: self.t(["checkout-server", "stamp-issuer", "old-site"][n]),
            hint: self.t(["px_api_3fA9…", "px_api_b71c…", "px_api_Q0xd…"][n]),
            live: n != 2,
            tier: self.t([
                "Tier 2: 350 per 15 minutes",
                "Custom: 5,000 per 15 minutes",
                "Tier 1: 125 per 15 minutes",
            ][n]),
            used: self.t(["212 of 350", "0 of 5,000", "0 of 125"][n]),
            permissions: self.t(["reads, history", "writes", "reads"][n]),
            last_used: (n != 1).then(|| self.at(-3)),
        }
    }

    fn history_request(self, n: usize) -> HistoryRequest {
        HistoryRequest {
            id: self.t(["h1", "h2"][n]),
            key_id: self.t("k1"),
            key: self.t("checkout-server"),
            use_case: self
                .t(["Rewards are paid by the score on the day of the snapshot.", "Just curious."][n]),
            by: self.t("bo@example.com"),
            at: self.at([-30, -4_000][n]),
            state: [DecisionBadge::Pending, DecisionBadge::Denied][n],
            decided: (n == 1).then(|| (self.t("ana@example.com"), self.at(-3_000))),
        }
    }

    fn api_key_form(self, problems: Problems) -> ApiKeyForm {
        let tiers = |first: &str| {
            vec![
                self.choice("1", first, false),
                self.choice("2", "Tier 2: 350 per 15 minutes", true),
                self.choice("3", "Tier 3: 2,000 per 15 minutes", false),
                self.choice("4", "Tier 4: custom, more than 2,000 per 15 minutes", false),
            ]
        };
        ApiKeyForm {
            name: self.t("checkout-server"),
            stamps_tiers: tiers("Tier 1: 125 per 15 minutes"),
            stamps_limit: String::new(),
            models_tiers: tiers("Tier 1: 15 per 15 minutes"),
            models_limit: String::new(),
            can_read: true,
            can_write: false,
            problems,
        }
    }

    fn usage(self, empty: bool) -> StackedBars {
        let series = [("Answered", "chart-1"), ("Refused", "chart-3")]
            .map(|(name, class)| Series { name: self.t(name), class })
            .to_vec();
        let bucket = |n: u64| Bucket {
            label: self.t(&format!("Nov 20, {:02}:{:02}", n / 4, n % 4 * 15)),
            counts: vec![((n * 37) % 211 + n * 2).min(350), if n % 29 == 7 { 60 } else { 0 }],
        };
        let buckets = if empty { Vec::new() } else { (0..96).map(bucket).collect() };
        StackedBars::new(
            "Requests in the last 24 hours",
            self.t("14,102 requests answered, 180 refused because the budget was used up."),
            series,
            buckets,
        )
    }

    fn api_key_page(self, n: usize, history: HistoryAccess, problems: Problems) -> String {
        render(&ApiKeyPage {
            shell: self.shell(),
            key: self.api_key(n),
            created: self.at(-90_000),
            revoked: (n == 2).then(|| self.at(-400)),
            form: self.api_key_form(problems),
            chart: self.usage(n == 1),
            history,
            use_case: String::new(),
        })
    }

    pub(super) fn api_keys(self) -> Vec<Rendered> {
        let wrong = self.problems(&[
            ("name", "Write a name."),
            ("can_read", "Select at least one permission."),
            ("stamps_limit", "Write a whole number."),
            ("models_limit", "Write a whole number."),
            ("use_case", "Say what for."),
        ]);
        let list = |keys: Vec<ApiKeyLine>, requests| {
            let search = if keys.is_empty() { Search::default() } else { self.search("/app/api-keys") };
            let request_search = search.clone();
            render(&ApiKeysPage {
                shell: self.shell(),
                search,
                keys,
                request_search,
                requests,
                ask: self.ask(),
            })
        };
        let all = || (0..3).map(|n| self.api_key(n)).collect();
        let refused = HistoryAccess::Without { refused: Some(self.history_request(1)) };
        vec![
            ("/app/api-keys", list(all(), vec![self.history_request(0), self.history_request(1)])),
            ("/app/api-keys/unasked", list(all(), Vec::new())),
            ("/app/api-keys/empty", list(Vec::new(), Vec::new())),
            (
                "/app/new/api-key",
                render(&NewApiKeyPage { shell: self.shell(), form: self.api_key_form(Problems::default()) }),
            ),
            (
                "/app/new/api-key/wrong",
                render(&NewApiKeyPage { shell: self.shell(), form: self.api_key_form(wrong.clone()) }),
            ),
            (
                "/app/api-keys/shown",
                render(&ApiKeyShownPage {
                    shell: self.shell(),
                    id: self.t("k1"),
                    name: self.t("checkout-server"),
                    key: self.t("px_api_sample_only_not_a_key_0000000000000"),
                    can_read: true,
                    ask: self.ask(),
                }),
            ),
            ("/app/api-keys/one", self.api_key_page(0, HistoryAccess::Granted, Problems::default())),
            (
                "/app/api-keys/asked",
                self.api_key_page(1, HistoryAccess::Pending(self.history_request(0)), Problems::default()),
            ),
            ("/app/api-keys/refused", self.api_key_page(0, refused, wrong)),
            (
                "/app/api-keys/revoked",
                self.api_key_page(2, HistoryAccess::Without { refused: None }, Problems::default()),
            ),
        ]
    }

    fn stamp(self, n: usize) -> StampRow {
        let standing = [
            StampStatus::Counts,
            StampStatus::Counts,
            StampStatus::Deduplicated,
            StampStatus::Weightless,
            StampStatus::Expired,
        ][n];
        StampRow {
            name: self.t([
                "HolonymGovIdProvider",
                "githubContributionActivityGte#120",
                "Discord",
                "Steam",
                "Google",
            ][n]),
            icon: (n != 3).then(|| {
                format!("/assets/stamps/{}.svg", ["HumanIdKyc", "Github", "Discord", "", "Google"][n])
            }),
            description: self.t([
                "Showed a government document, which stays private",
                "Contributed on 120 days",
                "Holds an established, active Discord account",
                "Plays",
                "Holds a Google account",
            ][n]),
            standing,
            why: self.t([
                "Counts with its full weight.",
                "Counts with its full weight.",
                "The same account was verified first by another address, so the Stamp counts there until 2026-03-01 unless it is renewed.",
                "This scorer gives this Stamp no weight.",
                "Expired on 2025-12-01.",
            ][n]),
            holder: (n == 2).then(|| self.t("0x1111111111111111111111111111111111111111")),
            weight: self.t(["16.026", "2.259", "0.516", "0", "0.525"][n]),
            contribution: self.t(["16.026", "2.259", "0", "0", "0"][n]),
            expires: self.at([90_000, 130_000, 86_000, 50_000, -50_000][n]),
            issued: self.at(-40_000),
            issuer: self.t("Stamp issuer"),
            did: self.t("did:ethr:0xd6fc34345bc8c8e5659a35bed9629d00f07e0b22"),
            digest: self.t(["aa", "bb", "cc", "dd", "ee"][n]),
        }
    }

    fn found(self, stamps: usize) -> ExplorerResult {
        let decimal = |text: &str| text.parse::<Decimal>().expect("a decimal");
        let gives = vec![
            (self.t("HolonymGovIdProvider"), decimal("16.026")),
            (self.t("githubContributionActivityGte#120"), decimal("2.259")),
        ];
        let gives = if stamps == 0 { Vec::new() } else { gives };
        ExplorerResult {
            address: self.t(ADDRESS),
            scorer: self.t("1"),
            scorer_name: self.t("Airdrop"),
            score: self.t(if stamps == 0 { "0" } else { "18.285" }),
            threshold: self.t("20"),
            passes: false,
            margin: self.t("1.715 below the threshold."),
            expires: (stamps > 0).then(|| self.at(90_000)),
            meter: Meter::new(self.t("Score 18.285, threshold 20."), gives, decimal("20")),
            search: Search { columns: sorted("/app/explorer"), ..Search::default() },
            stamps: (0..stamps).map(|n| self.stamp(n)).collect(),
            ask: self.ask(),
        }
    }

    pub(super) fn explorer(self) -> Vec<Rendered> {
        let page = |address: &str, problem: Option<&str>, found: Option<ExplorerResult>, any: bool| {
            render(&ExplorerPage {
                shell: self.shell(),
                address: self.t(address),
                problem: problem.map(|problem| self.t(problem)),
                scorers: if any { vec![self.choice("1", "1 · Airdrop", true)] } else { Vec::new() },
                found,
                bring: self.bring(),
            })
        };
        let passing =
            ExplorerResult { passes: true, margin: self.t("2.1 above the threshold."), ..self.found(2) };
        vec![
            ("/app/explorer", page("", None, None, true)),
            ("/app/explorer/unscored", page("", None, None, false)),
            ("/app/explorer/wrong", page("vitalik.eth", Some("Not an address."), None, true)),
            ("/app/explorer/one", page(ADDRESS, None, Some(self.found(5)), true)),
            ("/app/explorer/passing", page(ADDRESS, None, Some(passing), true)),
            ("/app/explorer/none", page(ADDRESS, None, Some(self.found(0)), true)),
        ]
    }
}
