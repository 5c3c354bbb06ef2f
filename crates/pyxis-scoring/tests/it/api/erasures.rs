//! Erasure of an address, with receipts (`docs/guides/erase-an-address.md`).

use std::io::Cursor;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::hex;
use pyxis_core::id::WebhookId;
use pyxis_models::activity_reader::Reader;
use pyxis_scoring::activity::{import, lags, rebuild};
use pyxis_scoring::service::erasures::{self, Erasure};
use pyxis_store::webhooks::{self, WebhookRow};
use pyxis_testkit::engines;

use super::scene::{START, Scene, score_path, wallet};

pub(super) async fn erase(scene: &Scene, address: EvmAddress) -> Option<Erasure> {
    erasures::erase(&scene.state, &Actor::cli(scene.workspace), address).await.unwrap()
}

async fn listen(scene: &Scene) {
    let id = WebhookId::new(START, &OsEntropy);
    let row = WebhookRow {
        id,
        workspace_id: scene.workspace,
        url: "https://hooks.example.com/in".to_owned(),
        description: String::new(),
        events: r#"["score.changed"]"#.to_owned(),
        sealed_secret: scene.keyring.seal(&OsEntropy, &webhooks::secret_aad(scene.workspace, id), b"whsec_1"),
        sealed_previous: None,
        previous_until_at: None,
        disabled_at: None,
        created_at: START,
        updated_at: START,
    };
    webhooks::insert(&scene.state.store, &row).await.unwrap();
}

/// Imports some transfers and computes features.
async fn with_activity(scene: &Scene) {
    let mut file = "chain,kind,from,to,time\n".to_owned();
    for number in 1..=3 {
        for other in 4..=9 {
            let line = format!("base,native,{},{},170000000{other}\n", wallet(number), wallet(other));
            file.push_str(&line);
        }
    }
    let reader = Reader::new(Box::new(Cursor::new(file.into_bytes()))).unwrap();
    import(&scene.state.store, "aa", "a.csv", reader, START, |_| ()).await.unwrap();
    let held = scene.state.models.current().await.unwrap();
    rebuild(&scene.state.store, &held.bundle, |_, _| ()).await.unwrap();
}

/// Columns of any table in which the address occurs, as bytes or as text.
pub(super) async fn occurrences(scene: &Scene, address: EvmAddress) -> Vec<String> {
    let sqlite = scene.database.file().is_some();
    let columns = if sqlite {
        "SELECT m.name || '.' || p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'"
    } else {
        "SELECT table_name || '.' || column_name FROM information_schema.columns \
         WHERE table_schema = current_schema()"
    };
    let plain = hex::encode(&address.0);
    // Text inside a binary value.
    let nested = hex::encode(plain.as_bytes());
    let mut statements = Vec::new();
    for column in scene.sql(columns).await {
        let (table, name) = column.split_once('.').unwrap();
        let spellings = if sqlite {
            vec![format!("lower(hex(\"{name}\"))"), format!("lower(CAST(\"{name}\" AS TEXT))")]
        } else {
            vec![format!("lower(CAST(\"{name}\" AS TEXT))")]
        };
        let find = if sqlite { "instr" } else { "strpos" };
        let tests = spellings
            .iter()
            .flat_map(|text| [&plain, &nested].map(|needle| format!("{find}({text}, '{needle}') > 0")));
        let test = tests.collect::<Vec<_>>().join(" OR ");
        statements.push(format!("SELECT '{column}' FROM \"{table}\" WHERE {test}"));
    }
    let mut found = Vec::new();
    for some in statements.chunks(100) {
        found.extend(scene.sql(&some.join(" UNION ")).await);
    }
    found
}

engines! {
    async fn an_erased_address_is_nowhere_in_the_database_and_the_receipt_says_what_was_removed(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "1.5"), ("B", "2")]).await;
        listen(scene).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.verify(wallet(2), "A", "a:2", 90).await;
        scene.score(scorer, wallet(1)).await;
        let kept = scene.record(scorer, wallet(2)).await;
        scene.on_day(1);
        scene.verify(wallet(1), "B", "b:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        with_activity(scene).await;
        assert!(occurrences(scene, wallet(1)).await.len() >= 5);

        let receipt = erase(scene, wallet(1)).await.unwrap();
        assert_eq!(occurrences(scene, wallet(1)).await, [""; 0]);
        let count = |kind| receipt.removed.get(kind).copied().unwrap_or_default();
        assert_eq!((count("stamps"), count("scores"), count("score_history")), (2, 1, 2));
        assert_eq!((count("claims_hashed"), count("deliveries"), count("transfers")), (2, 1, 6));
        assert_eq!((count("addresses"), &receipt.kept), (1, &std::collections::BTreeMap::new()));
        let (seq, mac) = (receipt.audit_seq, &receipt.audit_mac);
        let event = scene.sql(&format!("SELECT kind FROM audit_records WHERE seq = {seq}")).await;
        assert_eq!(event, ["address.erased"]);
        assert_eq!(mac.len(), 64);
        // Nothing is left, and the receipt can be shown again.
        assert_eq!(erase(scene, wallet(1)).await, None);
        let shown = erasures::receipts(&scene.state.db, scene.workspace, wallet(1)).await.unwrap();
        assert_eq!(shown, [receipt]);
        assert_eq!(scene.record(scorer, wallet(2)).await, kept, "others stay as they were");
        let held = scene.state.models.current().await.unwrap();
        assert!(lags(&scene.state.store, &held.bundle).await.unwrap());
        rebuild(&scene.state.store, &held.bundle, |_, _| ()).await.unwrap();
        assert_eq!(occurrences(scene, wallet(1)).await, [""; 0]);
    }

    async fn an_account_of_an_erased_address_counts_for_no_other_address_until_its_claim_ends(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1.5")]).await;
        scene.verify(wallet(1), "A", "a:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        assert!(erase(scene, wallet(1)).await.is_some());
        scene.verify(wallet(2), "A", "a:1", 90).await;
        let second = scene.score(scorer, wallet(2)).await;
        assert_eq!((&second["score"], &second["stamps"]["A"]["dedup"]), (&"0.00000".into(), &true.into()));
        // The same address starts fresh and has its account again.
        scene.verify(wallet(1), "A", "a:1", 90).await;
        let first = scene.score(scorer, wallet(1)).await;
        assert_eq!((&first["score"], &first["stamps"]["A"]["dedup"]), (&"1.50000".into(), &false.into()));
        let history = scene.get(&format!("{}/changes", score_path(scorer, wallet(1)))).await.json();
        let causes: Vec<_> = history["items"].as_array().unwrap().iter().map(|item| item["causes"][0]["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["first_answer", "erased"]);

        scene.on_day(91);
        assert_eq!(erase(scene, wallet(1)).await.unwrap().removed.get("ended_claims"), Some(&1));
        scene.verify(wallet(3), "A", "a:1", 200).await;
        assert_eq!(scene.score(scorer, wallet(3)).await["score"], "1.50000");
    }

    async fn an_address_of_another_workspace_stays(scene: &Scene) {
        let (workspace, key, scorer) = scene.neighbor().await;
        scene.verify(wallet(1), "A", "a:1", 30).await;
        assert_eq!(erasures::erase(&scene.state, &Actor::cli(workspace), wallet(1)).await.unwrap(), None);
        assert_eq!(scene.count("stamps").await, 1);
        scene.get_as(&key, &score_path(scorer, wallet(1))).await;
        assert!(erase(scene, wallet(1)).await.is_some());
        assert_eq!(scene.count("stamps").await, 0);
        assert_eq!(erasures::receipts(&scene.state.db, workspace, wallet(1)).await.unwrap(), []);
    }
}
