//! Sign-in with a contract wallet (ERC-1271), whose signature a real node checks.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_testkit::anvil::Anvil;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{VerifySite, address};
use crate::support::{Client, HttpResponse, Setup};

const PAGE: &str = "https://app.example.org";
/// Code that returns a contract which accepts every signature: it returns `0x1626ba7e` and zeros.
const AGREEABLE: &str = "601080600b6000396000f3631626ba7e60e01b60005260206000f3";
/// The same, but a 1 instead: what a contract without ERC-1271 may return.
const TALKATIVE: &str = "600a80600b6000396000f3600160005260206000f3";

async fn sign_in(page: &Client, scorer: &Value, wallet: EvmAddress, chain_id: u64) -> HttpResponse {
    let path = |end: &str| format!("/widget/v1/{scorer}/{end}");
    let asked = json!({"address": wallet, "chain_id": chain_id});
    let nonce = page.post(&path("nonce"), &asked).send().await.expect(200).json();
    let signed = json!({"message": nonce["message"], "signature": "0x0102"});
    page.post(&path("session"), &signed).send().await
}

engines! {
    async fn a_contract_wallet_signs_in_by_the_answer_of_its_chain(setup: Setup) {
        let mut anvil = Anvil::start(10);
        let deploy = async |code: &str| anvil.deploy(&hex::decode(code).unwrap()).await;
        let (agreeable, talkative) = (deploy(AGREEABLE).await, deploy(TALKATIVE).await);
        let networks = json!({"optimism": {"rpc": [anvil.url()]}}).to_string();
        let site = VerifySite::with(setup.env("PX_NETWORKS", &networks)).await;
        let scorer = &site.app.bootstrap["scorer_id"];
        let input = json!({"name": "page", "kind": "publishable", "scorer_id": scorer, "origins": [PAGE]});
        let key = site.owner.post("/admin/api-keys", &input).send().await.expect(201).json();
        let page = site.anyone.clone().with("x-api-key", key["key"].as_str().unwrap()).with("origin", PAGE);

        let opened = sign_in(&page, scorer, agreeable, 10).await.expect(200).json();
        assert_eq!(opened["address"], json!(agreeable));
        // A contract that says something else, and an address without a contract.
        for refused in [talkative, address(9)] {
            let answer = sign_in(&page, scorer, refused, 10).await.expect(401).json();
            assert_eq!(answer["code"], "wrong_signature", "{refused}");
        }
        let elsewhere = sign_in(&page, scorer, agreeable, 1).await.expect(422).json();
        assert_eq!(elsewhere["code"], "no_node");
        anvil.kill();
        let silent = sign_in(&page, scorer, agreeable, 10).await.expect(502).json();
        assert_eq!(silent["code"], "node_unavailable");
    }
}
