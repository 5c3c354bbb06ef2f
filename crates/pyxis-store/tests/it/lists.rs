//! Lists: search, order and slices, alike on both engines.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{CredentialId, UserId};
use pyxis_store::agents::{AgentChange, AgentRow};
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::issuers::IssuerRow;
use pyxis_store::lists::Direction::{Ascending, Descending};
use pyxis_store::lists::{
    self, AgentItem, ApiKeyItem, CredentialItem, Direction, GrantItem, HistoryRequestItem, ListSpec,
    PersonItem, ScorerItem, Slice, SortKey, StagedItem, WebhookItem,
};
use pyxis_store::{Engine, agents, limits};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, add_credential, add_user, at, new_agent, tamper};

/// Rows that the longest list has.
const MANY: u64 = 10_000;

fn all<'a, R>(search: &'a str, order: &'a [(SortKey<R>, Direction)]) -> Slice<'a, R> {
    Slice { search, order, offset: 0, limit: 100 }
}

fn names(items: Vec<AgentItem>) -> Vec<String> {
    items.into_iter().map(|AgentItem { row: AgentRow { name, .. }, .. }| name).collect()
}

/// Names of all agents with the text. Their number is the count.
async fn found(main: &Workspace, search: &str) -> Vec<String> {
    let list = lists::agents(main.id, NOW);
    let rows = list.read(&main.store, &all(search, &[(AgentItem::NAME, Ascending)])).await.unwrap();
    assert_eq!(list.count(&main.store, search).await.unwrap(), rows.len() as u64, "{search}");
    names(rows)
}

async fn sorted(main: &Workspace, key: SortKey<AgentItem>, direction: Direction) -> Vec<String> {
    let order = [(key, direction), (AgentItem::NAME, Ascending)];
    names(lists::agents(main.id, NOW).read(&main.store, &all("", &order)).await.unwrap())
}

/// Adds agents in a random order of ids.
async fn add_agents(main: &Workspace, names: &[&str]) {
    for name in names {
        add_agent(main, name, &[]).await;
    }
}

engines! {
    async fn a_list_is_sorted_by_code_point_and_a_missing_value_is_the_smallest(main: &Workspace) {
        add_agents(main, &["b", "A", "_c", "é", "a-b", "ab", "Z"]).await;
        let names = ["_c", "A", "a-b", "ab", "b", "Z", "é"];
        assert_eq!(sorted(main, AgentItem::NAME, Ascending).await, names);
        assert_eq!(sorted(main, AgentItem::NAME, Descending).await, names.into_iter().rev().collect::<Vec<_>>());
        // Ties keep the second order, in both directions.
        assert_eq!(sorted(main, AgentItem::LAST_USED, Ascending).await, names);
        assert_eq!(sorted(main, AgentItem::LAST_USED, Descending).await, names);

        let rows = agents::list(&main.store, main.id).await.unwrap();
        let id = |name: &str| rows.iter().find(|row| row.name == name).unwrap().id;
        agents::touch_used(&main.store, &[(id("Z"), at(2)), (id("b"), at(1))]).await.unwrap();
        assert_eq!(sorted(main, AgentItem::LAST_USED, Ascending).await, ["_c", "A", "a-b", "ab", "é", "b", "Z"]);
        assert_eq!(sorted(main, AgentItem::LAST_USED, Descending).await, ["Z", "b", "_c", "A", "a-b", "ab", "é"]);
    }

    async fn text_is_sorted_ignoring_the_case_of_ascii_letters_and_the_locale(main: &Workspace) {
        for (name, hint) in [("one", "b"), ("two", "A"), ("three", "_"), ("four", "É"), ("five", "é"), ("six", "C")] {
            let mut tx = main.store.begin().await.unwrap();
            let new = agents::NewAgent { key_hint: hint.to_owned(), ..new_agent(main.id, name) };
            agents::insert(&mut tx, &new, &[]).await.unwrap();
            tx.commit().await.unwrap();
        }
        let expected = ["three", "two", "one", "six", "four", "five"];
        assert_eq!(sorted(main, AgentItem::KEY, Ascending).await, expected);
    }

    async fn a_list_is_sorted_by_values_of_other_tables(main: &Workspace) {
        let [mail, api] = [add_credential(main, "mail").await, add_credential(main, "Api").await];
        add_agent(main, "both", &[mail, api]).await;
        add_agent(main, "mail", &[mail]).await;
        let busy = add_agent(main, "none", &[]).await;
        let every = add_agent(main, "every", &[]).await;
        let scope = AgentChange { scope: Some(agents::CredentialScope::All), ..AgentChange::default() };
        let mut tx = main.store.begin().await.unwrap();
        agents::update(&mut tx, main.id, every, scope).await.unwrap();
        tx.commit().await.unwrap();
        for _ in 0..2 {
            limits::admit(&main.store, busy, NOW, 10).await.unwrap();
        }
        limits::admit(&main.store, every, at(-3_600_000), 10).await.unwrap();
        assert_eq!(sorted(main, AgentItem::CREDENTIALS, Ascending).await, ["every", "none", "both", "mail"]);
        assert_eq!(sorted(main, AgentItem::USED, Descending).await, ["none", "both", "every", "mail"]);
        let order = [(AgentItem::USED, Descending)];
        let rows = lists::agents(main.id, NOW).read(&main.store, &all("", &order)).await.unwrap();
        assert_eq!(rows.iter().map(|one| one.used).collect::<Vec<_>>(), [2, 0, 0, 0]);
        let both = rows.iter().find(|one| one.row.name == "both").unwrap();
        assert_eq!(both.credentials.as_deref(), Some("Api, mail"));
    }

    async fn a_search_takes_every_character_for_itself(main: &Workspace) {
        let names = [r"100%", "100x", "a_b", "axb", r"c\d", "cd", "e*f", "exf", "g?h", "gxh", "[i]", "i", "j^$.|(){}+", "k'k"];
        add_agents(main, &names).await;
        for (text, expected) in [
            ("0%", vec!["100%"]),
            ("a_b", vec!["a_b"]),
            (r"c\d", vec![r"c\d"]),
            (r"\", vec![r"c\d"]),
            ("e*f", vec!["e*f"]),
            ("g?h", vec!["g?h"]),
            ("[i]", vec!["[i]"]),
            ("[", vec!["[i]"]),
            ("]", vec!["[i]"]),
            ("j^$.|(){}+", vec!["j^$.|(){}+"]),
            (".", vec!["j^$.|(){}+"]),
            ("***:", vec![]),
            ("(?i)", vec![]),
            ("k'k", vec!["k'k"]),
            ("' OR 1=1 --", vec![]),
        ] {
            assert_eq!(found(main, text).await, expected, "{text}");
        }
        // A letter with two cases that SQLite does not know makes it compare in another way.
        add_agents(main, &["é%_[x]*?\\", "éxx"]).await;
        assert_eq!(found(main, "É%_[X]*?\\").await, ["é%_[x]*?\\"]);
        assert_eq!(found(main, "").await.len(), names.len() + 2);
    }

    async fn a_search_ignores_the_case_of_letters_of_any_script(main: &Workspace) {
        add_agents(main, &["Café Zürich", "МОСКВА", "ΟΔΟΣ", "Straße", "İstanbul", "東京", "Kelvin"]).await;
        for (text, expected) in [
            ("CAFÉ", "Café Zürich"),
            ("café zÜR", "Café Zürich"),
            ("москва", "МОСКВА"),
            ("οδος", "ΟΔΟΣ"),
            ("οδοσ", "ΟΔΟΣ"),
            ("STRAẞE", "Straße"),
            ("İST", "İstanbul"),
            ("STANBUL", "İstanbul"),
            ("東", "東京"),
            ("kELVIN", "Kelvin"),
        ] {
            assert_eq!(found(main, text).await, [expected], "{text}");
        }
        // One letter never stands for two, or for another one, and an ASCII letter only for ASCII.
        for text in ["cafe", "strasse", "ıstanbul", "\u{212a}elvin"] {
            assert_eq!(found(main, text).await, [""; 0], "{text}");
        }
    }

    async fn a_search_for_more_than_a_list_can_hold_finds_nothing(main: &Workspace) {
        let long = "Ä".repeat(1000);
        add_agents(main, &["short", &long]).await;
        assert_eq!(found(main, &"ä".repeat(1000)).await, [long]);
        for text in ["ä".repeat(1001), "a".repeat(100_000), "\0".to_owned(), "s\0".to_owned()] {
            assert_eq!(found(main, &text).await, [""; 0]);
        }
    }

    async fn slices_of_a_long_list_hold_every_row_once_whatever_is_equal(main: &Workspace) {
        let insert = format!(
            "INSERT INTO issuers (workspace_id, did, name, created_at) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) \
             SELECT '{}', 'did:' || i, 'Issuer ' || (i % 7), i % 3 FROM n",
            main.id
        );
        tamper(main, &insert).await;
        let list = lists::issuers(main.id);
        assert_eq!(list.count(&main.store, "").await.unwrap(), MANY);
        for direction in [Ascending, Descending] {
            let order = [(IssuerRow::NAME, direction), (IssuerRow::CREATED, Descending)];
            let mut dids = std::collections::BTreeSet::new();
            let mut keys = Vec::new();
            for offset in (0..MANY).step_by(500) {
                let slice = Slice { search: "", order: &order, offset, limit: 500 };
                let rows = list.read(&main.store, &slice).await.unwrap();
                assert_eq!(rows.len(), 500);
                keys.extend(rows.iter().map(|row| (row.name.clone(), row.created_at)));
                dids.extend(rows.into_iter().map(|row| row.did));
            }
            assert_eq!(dids.len() as u64, MANY);
            let in_order = |pair: &[(String, _)]| match pair[0].0.cmp(&pair[1].0) {
                std::cmp::Ordering::Equal => pair[0].1 >= pair[1].1,
                other => (other == std::cmp::Ordering::Less) == (direction == Ascending),
            };
            assert!(keys.windows(2).all(in_order));
        }
        // The borders: the last row, and what is behind it.
        let dids = async |search, offset, limit| {
            let slice = Slice { search, order: &[], offset, limit };
            let rows = list.read(&main.store, &slice).await.unwrap();
            rows.into_iter().map(|row| row.did).collect::<Vec<_>>()
        };
        assert_eq!(dids("", MANY - 1, 50).await, ["did:9999"]);
        assert_eq!(dids("", MANY, 50).await, [""; 0]);
        assert_eq!(dids("", u64::MAX, 50).await, [""; 0]);
        assert_eq!(dids("", 0, 2).await, ["did:1", "did:10"]);
        assert_eq!(list.count(&main.store, "DID:999").await.unwrap(), 11);
        assert_eq!(dids("DID:999", 9, 50).await, ["did:9998", "did:9999"]);
    }

    async fn a_list_stays_in_its_workspace_and_among_the_rows_that_it_was_limited_to(main: &Workspace) {
        let [api, mail] = [add_credential(main, "api").await, add_credential(main, "mail").await];
        let other = main.add_workspace("other").await;
        let engine = main.store.engine();
        let count = async |workspace, among: Option<Vec<CredentialId>>, search: &str| {
            let list = lists::credentials(engine, workspace, among);
            let rows = list.read(&main.store, &all(search, &[])).await.unwrap();
            assert_eq!(list.count(&main.store, search).await.unwrap(), rows.len() as u64);
            rows.len()
        };
        assert_eq!(count(main.id, None, "").await, 2);
        assert_eq!(count(main.id, Some(vec![mail]), "").await, 1);
        assert_eq!(count(main.id, Some(vec![mail, api]), "API").await, 2, "both have the host");
        assert_eq!(count(main.id, Some(vec![mail]), "mail").await, 1);
        assert_eq!(count(main.id, Some(Vec::new()), "").await, 0);
        assert_eq!(count(other, None, "").await, 0);
        assert_eq!(count(other, Some(vec![mail]), "").await, 0);
    }

    async fn every_list_can_be_sorted_by_each_of_its_keys(main: &Workspace) {
        add_credential(main, "api").await;
        add_agent(main, "bot", &[]).await;
        let user: UserId = add_user(main, "ana@example.com").await;
        let (ws, engine): (_, Engine) = (main.id, main.store.engine());
        macro_rules! each {
            ($list:expr, $rows:literal, $item:ident: $($key:ident),*) => {
                for key in [$($item::$key),*] {
                    read(main, &$list, &[(key, Ascending)], $rows).await;
                    read(main, &$list, &[(key, Descending), (key, Ascending)], $rows).await;
                }
            };
        }
        each!(lists::agents(ws, NOW), 1, AgentItem: NAME, KEY, STATE, CREDENTIALS, USED, LIMIT, LAST_USED);
        each!(lists::people(ws), 1, PersonItem: EMAIL, ROLE, STATE, RIGHTS, LAST_SIGN_IN, CREATED);
        each!(
            lists::credentials(engine, ws, None), 1,
            CredentialItem: NAME, DESCRIPTION, KIND, HOSTS, POLICY, RULES, LAST_USED, CREATED
        );
        each!(
            lists::api_keys(ws, NOW), 0,
            ApiKeyItem: NAME, HINT, STATE, PERMISSIONS, BUDGET, USED, LAST_USED, CREATED
        );
        each!(
            lists::history_requests(ws, None), 0,
            HistoryRequestItem: KEY, USE_CASE, REQUESTED_BY, REQUESTED, STATE, DECIDED_BY, DECIDED
        );
        each!(
            lists::webhooks(ws), 0,
            WebhookItem: URL, DESCRIPTION, STATE, EVENTS, DELIVERED, PENDING, FAILED, CREATED
        );
        each!(lists::scorers(ws), 0, ScorerItem: NAME, NUMBER, THRESHOLD, STAMPS, SUM, SCORED, CREATED);
        each!(lists::issuers(ws), 0, IssuerRow: NAME, DID, CREATED);
        each!(
            lists::grants(ws, NOW), 0,
            GrantItem: METHOD, ROUTE, CREDENTIAL, AGENTS, OPENED_BY, USES, EXPIRES
        );
        each!(lists::staged_policies(ws, None, NOW), 0, StagedItem: CREDENTIAL, PROPOSED_BY, PROPOSED);
        each!(lists::staged_policies(ws, Some(user), NOW), 0, StagedItem: CREDENTIAL, PROPOSED_BY, PROPOSED);
        each!(lists::failing_messages(ws), 0, ChatMessageRow: PLATFORM, CHAT, ERROR, SUBJECT, CREATED);
        read(main, &lists::rights(ws, user), &[], 0).await;
        read(main, &lists::rights(ws, UserId::new(NOW, &OsEntropy)), &[], 0).await;
        read(main, &lists::suspect_groups(), &[], 0).await;
    }
}

/// Reads the list whole, by its count, and with a search that finds nothing.
async fn read<R: lists::Item>(
    main: &Workspace,
    list: &ListSpec<R>,
    order: &[(SortKey<R>, Direction)],
    rows: u64,
) {
    assert_eq!(list.read(&main.store, &all("", order)).await.unwrap().len() as u64, rows);
    assert_eq!(list.count(&main.store, "").await.unwrap(), rows);
    for nothing in ["no such thing", "nö such thing"] {
        assert!(list.read(&main.store, &all(nothing, order)).await.unwrap().is_empty());
        assert_eq!(list.count(&main.store, nothing).await.unwrap(), 0);
    }
}
