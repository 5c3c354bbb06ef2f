//! The catalogue and the issuers.

use pyxis_dashboard::view::catalogue::{
    CataloguePage, IssuerLine, IssuersPage, PlatformForm, PlatformLine, PlatformPage,
};
use pyxis_dashboard::view::{Problems, Search};

use super::{Rendered, Sample, render};

impl Sample {
    fn platform(self, n: usize) -> PlatformLine {
        let groups: [&[(&str, &[&str])]; 4] = [
            &[("Account Verification", &["Discord"])],
            &[
                ("Network Participation Levels", &["ETHScore#50", "ETHScore#75", "ETHScore#90"]),
                ("Ethereum Activity Metrics", &["ETHGasSpent#0.25", "ETHnumTransactions#100"]),
            ],
            &[(
                "Developer Activity",
                &["githubContributionActivityGte#30", "githubContributionActivityGte#60"],
            )],
            &[],
        ];
        let id = ["Discord", "ETH", "Github", "CustomNFT"][n];
        PlatformLine {
            id: self.t(id),
            icon: format!("/assets/stamps/{id}.svg"),
            name: self.t(["Discord", "Ethereum", "GitHub", "Tokens of your choice"][n]),
            description: self.t([
                "An established Discord account",
                "How an address was used on Ethereum",
                "Contributions to open work on GitHub",
                "Holders of a token that you name",
            ][n]),
            groups: groups[n]
                .iter()
                .map(|(group, stamps)| (self.t(group), stamps.iter().map(|stamp| self.t(stamp)).collect()))
                .collect(),
        }
    }

    fn catalogue_page(self, own: bool) -> String {
        render(&CataloguePage {
            shell: self.shell(),
            search: self.search("/app/catalogue"),
            platforms: (0..4).map(|n| self.platform(n)).collect(),
            own,
            summary: self.t("31 platforms with 59 Stamps"),
            ask: self.t("curl http://localhost:8700/v2/stamps/metadata \\\n  -H 'X-API-KEY: <API key>'"),
        })
    }

    fn platform_page(self, stored: bool, problems: Problems) -> String {
        let triple = |group: &str, stamp: &str, says: &str| (self.t(group), self.t(stamp), self.t(says));
        render(&PlatformPage {
            shell: self.shell(),
            stored: stored.then(|| self.platform(1)),
            form: PlatformForm {
                id: self.t("ETH"),
                name: self.t("Ethereum"),
                description: self.t("How an address was used on Ethereum"),
                connect_message: self.t("Verify your activity."),
                icon: String::new(),
                stamps: vec![
                    triple(
                        "Network Participation Levels",
                        "ETHScore#50",
                        "Looks like a person with at least 50 of 100",
                    ),
                    triple(
                        "Ethereum Activity Metrics",
                        "ETHnumTransactions#100",
                        "Sent at least 100 transactions",
                    ),
                ],
                before: self.t("0f"),
                problems,
            },
        })
    }

    pub(super) fn catalogue(self) -> Vec<Rendered> {
        let wrong = self.problems(&[
            ("id", "Taken."),
            ("name", "Write a name."),
            ("description", "Too long."),
            ("connect_message", "Too long."),
            ("icon", "Neither a path nor a URL."),
            ("stamp", "Row 2: a name has no spaces."),
        ]);
        let overtaken = self.problems(&[("before", "someone else changed the catalogue meanwhile.")]);
        let issuer = |n: usize| IssuerLine {
            did: self.t([
                "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d00f07e0b22",
                "did:key:z6MkghvGHLobLEdj1bgRLhS4LPGJAvbMA1tn2zcRyqmYU5LC",
            ][n]),
            name: self.t(["Stamp issuer", "Older Stamp issuer"][n]),
            added: self.at(-90_000),
        };
        let issuers = |issuers, problems| {
            render(&IssuersPage {
                shell: self.shell(),
                search: Search { path: "/app/issuers".to_owned(), ..Search::default() },
                issuers,
                add: self.t("curl http://localhost:8700/admin/issuers"),
                did: String::new(),
                name: String::new(),
                problems,
            })
        };
        vec![
            ("/app/catalogue", self.catalogue_page(false)),
            ("/app/catalogue/own", self.catalogue_page(true)),
            ("/app/new/platform", self.platform_page(false, Problems::default())),
            ("/app/new/platform/wrong", self.platform_page(false, wrong)),
            ("/app/catalogue/one", self.platform_page(true, Problems::default())),
            ("/app/catalogue/overtaken", self.platform_page(true, overtaken)),
            ("/app/issuers", issuers((0..2).map(issuer).collect(), Problems::default())),
            (
                "/app/issuers/empty",
                issuers(Vec::new(), self.problems(&[("did", "Not a DID."), ("name", "Write a name.")])),
            ),
        ]
    }
}
