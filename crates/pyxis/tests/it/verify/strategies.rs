//! One integer for each address, at a height (`docs/reference/behavior/verification.md#voting-strategies`).

use pyxis_core::proof::{Kind, Revocation, Statement};
use pyxis_testkit::engines;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::installation::{ACTION, VerifySite, address, now, registration};
use crate::support::client::dial;
use crate::support::{Setup, until};

const GOV_ID: &str = "/snapshot-strategies/sybil-resistance/gov-id";

fn strategy_path(snapshot: &str, addresses: &[String]) -> String {
    format!("{GOV_ID}?network=10&snapshot={snapshot}&addresses={}&action-id={ACTION}", addresses.join(","))
}

/// The address with a checksum (ERC-55).
fn checksummed(number: u8) -> String {
    let plain = address(number).to_string();
    let hash = pyxis_evm::keccak(&plain.as_bytes()[2..]);
    let digit = |(position, digit): (usize, char)| {
        let nibble = hash[position / 2] >> (4 * (1 - position % 2)) & 15;
        if nibble >= 8 { digit.to_ascii_uppercase() } else { digit }
    };
    format!("0x{}", plain[2..].chars().enumerate().map(digit).collect::<String>())
}

engines! {
    async fn five_hundred_checksummed_addresses_in_one_request(setup: Setup) {
        let site = VerifySite::with(setup).await;
        for number in [1, 0xab, 0xcd] {
            site.register(registration(number, Kind::GovId, number.into())).await;
        }
        // Duplicates, and unknown addresses.
        let numbers = || (0..500).map(|number| u8::try_from(number % 250).unwrap());
        let addresses: Vec<String> = numbers().map(checksummed).collect();
        let answer = site.get_json(&strategy_path("latest", &addresses)).await;
        let wanted = numbers().zip(&addresses).map(|(number, address)| {
            json!({"address": address, "score": u8::from(matches!(number, 1 | 0xab | 0xcd))})
        });
        assert_eq!(answer, json!({"score": wanted.collect::<Vec<_>>()}));
        let body = json!({
            "options": {"api": "x", "symbol": "", "decimals": 0, "additionalParameters": format!("action-id={ACTION}")},
            "network": "10", "snapshot": "latest", "addresses": addresses,
        });
        assert_eq!(site.anyone.post(GOV_ID, &body).send().await.expect(200).json(), answer);
        let numeric = json!({
            "options": {"additionalParameters": format!("action-id={ACTION}")},
            "network": 10, "snapshot": 0, "addresses": [checksummed(1)],
        });
        let old = site.anyone.post(GOV_ID, &numeric).send().await.expect(200).json();
        assert_eq!(old["score"][0], json!({"address": checksummed(1), "score": 0}));
    }

    async fn what_was_answered_about_a_block_stands(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let one = vec![address(1).to_string()];
        let head = site.head().await;
        assert_eq!(site.get_json(&strategy_path(&head.to_string(), &one)).await["score"][0]["score"], 0);
        // In the same second, but the block was already used for an answer, so the registration gets a later one.
        let height = site.register(registration(1, Kind::GovId, 7)).await["height"].as_i64().unwrap();
        assert!(height > head);
        assert_eq!(site.get_json(&strategy_path(&head.to_string(), &one)).await["score"][0]["score"], 0);
        assert_eq!(site.get_json(&strategy_path("latest", &one)).await["score"][0]["score"], 1);
        let reached = async || (site.head().await >= height).then_some(());
        until("the block of the registration", reached).await;
        assert_eq!(site.get_json(&strategy_path(&height.to_string(), &one)).await["score"][0]["score"], 1);
        let revocation = Revocation {
            kind: Kind::GovId,
            network: "optimism".parse().unwrap(),
            subject: address(1).into(),
            action_id: ACTION.parse().unwrap(),
            reason: "stolen".to_owned(),
            issued_at: now(),
            nonce: "r".to_owned(),
        };
        let revoked = site.submit(Statement::Revoke(revocation)).await.expect(201).json();
        assert!(revoked["height"].as_i64().unwrap() > height);
        assert_eq!(site.get_json(&strategy_path(&height.to_string(), &one)).await["score"][0]["score"], 1);
        let latest = site.get_json(&format!("{}&explain=true", strategy_path("latest", &one))).await;
        assert_eq!(latest["score"][0], json!({"address": one[0], "score": 0, "reason": "revoked"}));
    }

    async fn a_thousand_addresses_are_answered_and_one_more_is_refused(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let some: Vec<String> = (0..1000).map(|number| address(u8::try_from(number % 256).unwrap()).to_string()).collect();
        let answer = site.get_json(&strategy_path("latest", &some)).await;
        assert_eq!(answer["score"].as_array().map(Vec::len), Some(1000));
        let encoded = strategy_path("latest", &some).replace(',', "%2C");
        assert_eq!(site.get_json(&encoded).await, answer);
        let more = [some, vec![address(1).to_string()]].concat();
        let refused = site.get(&strategy_path("latest", &more)).await.expect(400).json();
        assert_eq!(refused, json!({"error": "Too many addresses: at most 1000"}));
    }
}

/// The status of a GET of this target.
async fn status_of(site: &VerifySite, target: &str) -> u16 {
    let mut stream = dial(site.app.address()).await;
    let head = format!("GET {target} HTTP/1.1\r\nhost: pyxis\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A request refused unread may end in a reset after the response.
    drop(stream.read_to_end(&mut answer).await);
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// At least 64 KiB of request line (`docs/reference/behavior/verification.md#voting-strategies`).
#[tokio::test]
async fn a_request_line_of_64_kib_is_read_and_a_target_one_byte_over_the_limit_is_refused() {
    const LIMIT: usize = 65_534;
    let site = VerifySite::with(Setup::new()).await;
    site.register(registration(1, Kind::GovId, 7)).await;
    // A thousand addresses with escaped commas, and an unknown parameter.
    let some: Vec<String> =
        (0..1000).map(|number| address(u8::try_from(number % 256).unwrap()).to_string()).collect();
    let filled = |length: usize| {
        let mut target = strategy_path("latest", &some).replace(',', "%2C");
        target.push_str("&more=");
        target.extend(std::iter::repeat_n('x', length - target.len()));
        assert_eq!(target.len(), length);
        target
    };
    let line = |target: &str| "GET ".len() + target.len() + " HTTP/1.1\r\n".len();
    let whole = filled(LIMIT);
    assert!(line(&whole) > 64 * 1024);
    let answer = site.get_json(&whole).await;
    assert_eq!(answer["score"].as_array().map(Vec::len), Some(1000));
    assert_eq!(answer["score"][1]["score"], 1);
    assert_eq!(status_of(&site, &whole).await, 200);
    assert_eq!(status_of(&site, &filled(LIMIT + 1)).await, 414);
    // The server keeps running.
    assert_eq!(site.get_json(&strategy_path("latest", &some[..2])).await["score"][1]["score"], 1);
}

#[tokio::test]
async fn errors_of_strategies_come_with_their_words() {
    let site = VerifySite::with(Setup::new()).await;
    let user = address(1);
    let whole =
        [("network", "10"), ("snapshot", "1"), ("addresses", &user.to_string()), ("action-id", ACTION)]
            .map(|(name, value)| (name, value.to_owned()));
    let with = |name: &str, value: Option<&str>| {
        let pairs = whole.iter().filter(|(key, _)| *key != name || value.is_some()).map(|(key, known)| {
            format!("{key}={}", if *key == name { value.unwrap_or_default() } else { known })
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    };
    site.get(&format!("{GOV_ID}{}", with("", None))).await.expect(200);
    let huge = "9".repeat(30);
    for (name, value, said) in [
        ("network", None, "Request query params do not include network"),
        ("snapshot", None, "Request query params do not include snapshot"),
        ("addresses", None, "Request query params do not include addresses"),
        ("action-id", None, "Request query params do not include action-id"),
        ("action-id", Some("0x1"), "Invalid action-id"),
        ("action-id", Some("0"), "Invalid action-id"),
        ("action-id", Some("000"), "Invalid action-id"),
        ("snapshot", Some("soon"), "Snapshot is invalid"),
        ("snapshot", Some("999999999"), "Snapshot is invalid"),
        ("snapshot", Some(&huge), "Snapshot is invalid"),
        ("network", Some("5"), "Unsupported network"),
        ("network", Some("optimism"), "Unsupported network"),
        ("network", Some("420"), "Unsupported network"),
    ] {
        let answer = site.get(&format!("{GOV_ID}{}", with(name, value))).await.expect(400);
        let mut wanted = json!({"error": said});
        if name == "network" && value.is_some() {
            wanted["known"] = json!(["10", "84532", "1", "8453"]);
        }
        assert_eq!(answer.json(), wanted, "{name} {value:?}");
    }
    // Each bad address is named, up to twenty of them.
    let entry = |index: usize, value: &str| {
        let reason = "not an address: write 0x followed by 40 hex characters";
        json!({"index": index, "value": value, "reason": reason})
    };
    let mixed = format!("{user},0x1,{user},vitalik.eth");
    for (addresses, invalid) in [
        ("0x1", vec![entry(0, "0x1")]),
        (",", vec![entry(0, ""), entry(1, "")]),
        (&format!("{mixed}&strict=true"), vec![entry(1, "0x1"), entry(3, "vitalik.eth")]),
    ] {
        let wanted =
            json!({"error": "Invalid user address", "invalid": invalid, "invalid_count": invalid.len()});
        let answer = site.get(&format!("{GOV_ID}{}", with("addresses", Some(addresses)))).await.expect(400);
        assert_eq!(answer.json(), wanted, "{addresses}");
        let (addresses, rest) = addresses.split_once('&').unwrap_or((addresses, ""));
        let options = json!({"additionalParameters": format!("action-id={ACTION}&{rest}")});
        let addresses: Vec<&str> = addresses.split(',').collect();
        let body = json!({"options": options, "network": "10", "snapshot": 1, "addresses": addresses});
        assert_eq!(site.anyone.post(GOV_ID, &body).send().await.expect(400).json(), wanted);
    }
    let body = json!({"options": {"additionalParameters": "action-id=0"}, "network": 10, "snapshot": 1, "addresses": [user]});
    let answer = site.anyone.post(GOV_ID, &body).send().await.expect(400).json();
    assert_eq!(answer, json!({"error": "Invalid action-id"}));
    let body = json!({"options": {"additionalParameters": "action-id=1"}, "network": 10, "snapshot": 1, "addresses": [user, 7, null]});
    let answer = site.anyone.post(&format!("{GOV_ID}?strict=1"), &body).send().await.expect(400).json();
    assert_eq!(answer["invalid"], json!([entry(1, "7"), entry(2, "null")]));
    // Unless the request is strict, an entry that is not an address holds nothing, and says so.
    let failed = |index: usize, address: &str| {
        let detail = "not an address: write 0x followed by 40 hex characters";
        let error = json!({"index": index, "code": "invalid_address", "detail": detail});
        json!({"address": address, "score": 0, "error": error})
    };
    let counted = json!({"address": user.to_string(), "score": 0});
    let answer = site.anyone.post(GOV_ID, &body).send().await.expect(200).json();
    assert_eq!(answer["score"], json!([counted, failed(1, "7"), failed(2, "null")]));
    let answer = site.get(&format!("{GOV_ID}{}", with("addresses", Some(&mixed)))).await.expect(200).json();
    assert_eq!(answer["score"], json!([counted, failed(1, "0x1"), counted, failed(3, "vitalik.eth")]));
    for path in ["sybil-resistance/epassport", "sybil-resistance/none", "residence/country/de"] {
        site.get(&format!("/snapshot-strategies/{path}{}", with("", None))).await.expect(404);
        let posted = site.anyone.post(&format!("/snapshot-strategies/{path}"), &json!({})).send().await;
        posted.expect(404);
    }
    let residence = "/snapshot-strategies/residence/country/us?network=420&snapshot=1&addresses=";
    assert_eq!(site.get_json(&format!("{residence}{user}")).await["score"][0]["score"], 0);
    for body in [Value::Null, json!([]), json!({"addresses": [1]})] {
        let answer = site.anyone.post(GOV_ID, &body).send().await.expect(400).json();
        assert!(answer["error"].is_string(), "{body}: {answer}");
    }
}
