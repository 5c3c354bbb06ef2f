//! The models page.

use std::sync::Arc;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_models::calibration::Curve;
use pyxis_models::custom::Custom;
use pyxis_models::features;
use pyxis_models::scope::Model;
use pyxis_scoring::models::{ActivitySource, FeaturesFuture, IndexerError, SourceError};
use pyxis_store::activity::{self, WalletRow};
use pyxis_store::models;
use pyxis_testkit::engines;

use crate::support::{HOLDER, Server, import_activity};

/// An indexer that does not answer.
struct Down;

impl ActivitySource for Down {
    fn fetch_features(&self, _: EvmAddress, _: UnixMillis) -> FeaturesFuture<'_> {
        let error = IndexerError::Strange;
        Box::pin(async { Err(SourceError::Indexer { chain: "base", error }) })
    }
}

engines! {
    async fn the_page_says_how_good_models_are_and_why_a_wallet_has_its_score(server: Server) {
        let (_, mut browser) = server.with_owner().await;
        let text = browser.get("/app/models").await.text;
        for shown in [
            "Model quality",
            "by cluster",
            "transferred to",
            "partly circular",
            "No activity imported",
            "<svg",
        ] {
            assert!(text.contains(shown), "{shown}");
        }
        import_activity(&server, format!("chain,from,to\nbase,{HOLDER},{HOLDER}\nbase,{HOLDER},{HOLDER}\n")).await;
        let text = browser.get(&format!("/app/models?address={HOLDER}")).await.text;
        for shown in
            ["weight 100 %", "Transferred: this model was not trained on labels", "Feature", "Suggests"]
        {
            assert!(text.contains(shown), "{shown}");
        }
        let text = browser.get(&format!("/app/models?address={HOLDER}&model=nft")).await.text;
        assert!(text.contains("Too little data: fewer than 2 known transfers"));
        assert!(browser.get("/app/models?address=vitalik.eth").await.text.contains("Enter an address"));
    }

    async fn a_model_of_ones_own_is_called_custom_wherever_it_answers(server: Server) {
        let (_, mut browser) = server.with_owner().await;
        assert!(!browser.get("/app/models").await.text.contains("Your own models"));
        import_activity(&server, format!("chain,from,to\nbase,{HOLDER},{HOLDER}\nbase,{HOLDER},{HOLDER}\n")).await;
        let wanted = pyxis_models::custom::ModelUse {
            model: Model::Base,
            name: "night <b>owl</b>".to_owned(),
            description: Some("Looks at hours.".to_owned()),
            output: None,
            human: None,
            unknown: None,
            calibration: Curve::PLAIN,
            weight: None,
            added_at: "2026-01-02T03:04:05Z".to_owned(),
        };
        let file = pyxis_testkit::onnx::stump(features::feature_count(Model::Base), 0, 10.0, 0.25, 0.75).bytes();
        let custom = Custom::new(&file, wanted).unwrap();
        let hash = custom.card.file_sha256.clone();
        let mut bundle = server.scoring.models.current().await.unwrap().bundle.clone();
        bundle.add(custom);
        let (store, now) = (&server.scoring.store, server.scoring.now());
        models::install(store, None, &bundle.fingerprint(), bundle.to_bytes(), now).await.unwrap();
        let looked = browser.get(&format!("/app/models?address={HOLDER}&model=base")).await.text;
        for shown in ["25.00", "Custom: this score comes from your model night"] {
            assert!(looked.contains(shown), "{shown}");
        }
        let listed = browser.get("/app/models").await.text;
        for shown in ["Your own models", "Looks at hours.", hash.as_str()] {
            assert!(listed.contains(shown), "{shown}");
        }
        assert!(![looked, listed].concat().contains("<b>owl"), "a name is text");
    }

    async fn an_indexer_that_fails_is_a_sentence_and_one_that_is_named_is_activity(server: Server) {
        let (_, browser) = server.with_owner().await;
        let mut browser = browser.elsewhere(server.asking(Arc::new(Down)));
        let page = browser.get("/app/models").await;
        assert!(!page.text.contains("No activity imported"));
        let page = browser.get(&format!("/app/models?address={HOLDER}")).await;
        assert_eq!(page.status.as_u16(), 200);
        assert!(page.text.contains("the indexer of base does not respond"), "{}", page.text);
        assert!(!page.text.contains("Too little data"));
    }

    async fn what_is_damaged_is_an_error_and_no_lack_of_data(server: Server) {
        let (_, mut browser) = server.with_owner().await;
        let row = WalletRow { address: HOLDER, digest: 1, features: vec![1, 2, 3] };
        activity::put_wallets(&server.scoring.store, vec![row]).await.unwrap();
        let page = browser.get(&format!("/app/models?address={HOLDER}")).await;
        assert_eq!(page.status.as_u16(), 500);
        assert!(!page.text.contains("Too little data"));
    }
}
