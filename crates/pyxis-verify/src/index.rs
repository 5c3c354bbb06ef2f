//! The external attestation index: every page of it, and rule 3 exactly
//! (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`).

mod breaker;

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, StatusCode};
use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_net::{Client, body};
use serde::Deserialize;
use serde_json::Value;

use self::breaker::Breaker;
use crate::config::Attestations;
use crate::error::{BoxError, Error, Result};

/// Time limit for one page.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest page, in bytes.
const MAX_PAGE: usize = 4 << 20;
/// Maximum number of pages for an address.
const MAX_PAGES: u64 = 200;
/// Maximum number of cached addresses.
const REMEMBERED: u64 = 10_000;

/// An attestation as returned by the index. A missing field makes it invalid and is not an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IndexedAttestation {
    /// Id in the index.
    pub attestation_id: Value,
    pub full_schema_id: Value,
    /// Address of the attester.
    pub attester: Value,
    /// True if the address is its receiver.
    pub is_receiver: Value,
    /// True if it was revoked.
    pub revoked: Value,
    /// Unix seconds, as a number or as text.
    pub valid_until: Value,
}

/// Requirements for an attestation.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Required schema.
    pub schema: String,
    /// The one authorized attester.
    pub attester: EvmAddress,
}

/// A valid attestation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexResult {
    /// Unix seconds.
    pub valid_until: i64,
    /// Id in the index.
    pub attestation_id: Option<String>,
}

/// Rule 3: the attestation, if it is valid at `now`.
pub fn valid(attestation: &IndexedAttestation, rule: &Rule, now: UnixMillis) -> Option<IndexResult> {
    let attester: EvmAddress = attestation.attester.as_str()?.parse().ok()?;
    let until = seconds(&attestation.valid_until)?;
    let holds = attestation.full_schema_id == rule.schema.as_str()
        && attester == rule.attester
        && attestation.is_receiver == Value::Bool(true)
        && attestation.revoked == Value::Bool(false)
        && until > now.seconds();
    holds.then(|| IndexResult { valid_until: until, attestation_id: name(&attestation.attestation_id) })
}

fn seconds(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(to_integer)),
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
            // Later than any clock shows.
            Some(text.parse().unwrap_or(i64::MAX))
        }
        _ => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction is cut off, what is beyond 64 bits saturates"
)]
const fn to_integer(seconds: f64) -> i64 {
    seconds as i64
}

fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The index, with a cache of its answers.
pub struct Index {
    net: Client,
    clock: Arc<dyn Clock>,
    config: Attestations,
    breaker: Breaker,
    known: Cache<EvmAddress, (IndexResult, UnixMillis)>,
}

impl Index {
    /// The configured index, queried over `net`.
    pub fn new(net: &Client, clock: &Arc<dyn Clock>, config: &Attestations) -> Self {
        Self {
            net: net.clone(),
            clock: Arc::clone(clock),
            config: config.clone(),
            breaker: Breaker::default(),
            known: Cache::new(REMEMBERED),
        }
    }

    /// The valid clean-hands attestation of an address that lasts longest; `None` if there is none. A failure of the
    /// index is an error, never `None`.
    pub async fn clean_hands(&self, address: EvmAddress) -> Result<Option<IndexResult>> {
        let config = &self.config;
        let (Some(url), Some(attester)) = (&config.scan_url, config.attester) else {
            return Err(Error::NotConfigured);
        };
        let now = self.clock.now();
        let remembered = self.known.get(&address).filter(|(found, at)| {
            now.since(*at) < config.remember && now >= *at && found.valid_until > now.seconds()
        });
        if let Some((found, _)) = remembered {
            return Ok(Some(found));
        }
        if !self.breaker.admits(now) {
            return Err(Error::Index(
                "it failed several times in a row and is not queried for a while".into(),
            ));
        }
        let read = self.all(url, address).await;
        self.breaker.record_result(read.is_ok(), self.clock.now());
        let rule = Rule { schema: config.schema.clone(), attester };
        let rows = read.map_err(Error::Index)?;
        let valid = rows.iter().filter_map(|row| valid(row, &rule, now));
        let found = valid.max_by_key(|found| found.valid_until);
        match &found {
            Some(found) => self.known.insert(address, (found.clone(), now)),
            None => self.known.invalidate(&address),
        }
        Ok(found)
    }

    /// Every attestation of an address.
    async fn all(&self, url: &str, address: EvmAddress) -> Result<Vec<IndexedAttestation>, BoxError> {
        let mut rows = Vec::new();
        for number in 1..=MAX_PAGES {
            let Some(page) = self.page(url, address, number).await? else {
                // No one ever attested anything to this address.
                return if number == 1 {
                    Ok(rows)
                } else {
                    Err("the index dropped the address midway".into())
                };
            };
            if page.number.is_some_and(|told| told != number) {
                return Err("the index returned another page than the requested one".into());
            }
            let read = page.rows.len() as u64;
            rows.extend(page.rows);
            let so_far = rows.len() as u64;
            match (page.total, page.size) {
                (Some(total), _) if so_far >= total => return Ok(rows),
                (Some(_), _) if read == 0 => {
                    return Err("the index returned fewer attestations than it counted".into());
                }
                (None, Some(size)) if read >= size && read > 0 => {}
                (None, _) => return Ok(rows),
                (Some(_), _) => {}
            }
        }
        Err("the index has more pages than Pyxis reads".into())
    }

    /// One page; `None` for 404.
    async fn page(&self, url: &str, address: EvmAddress, number: u64) -> Result<Option<Page>, BoxError> {
        let uri =
            format!("{}/api/scan/addresses/{address}/attestations?page={number}", url.trim_end_matches('/'));
        let request =
            Request::builder().method(Method::GET).uri(uri).header(http::header::ACCEPT, "application/json");
        let request = request.body(body::empty())?;
        let reading = async {
            let response = self.net.send(request, TIMEOUT).await?;
            let status = response.status();
            Ok::<_, BoxError>((status, body::read_capped(response.into_body(), MAX_PAGE).await?))
        };
        let (status, bytes) = tokio::time::timeout(TIMEOUT, reading).await??;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => {
                let envelope: Envelope = serde_json::from_slice(&bytes)?;
                if envelope.success == Some(false) {
                    return Err("the index reported a failure".into());
                }
                Ok(Some(envelope.data))
            }
            other => Err(format!("the index responded with {other}").into()),
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    success: Option<bool>,
    data: Page,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default, deserialize_with = "count")]
    total: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    size: Option<u64>,
    #[serde(default, rename = "page", deserialize_with = "count")]
    number: Option<u64>,
    rows: Vec<IndexedAttestation>,
}

/// A number, as a number or as text.
fn count<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => text.parse().map(Some).map_err(serde::de::Error::custom),
        value => value.as_u64().map(Some).ok_or_else(|| serde::de::Error::custom("not a count")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_767_225_600_000);

    fn rule() -> Rule {
        Rule { schema: "onchain_evm_10_0x8".to_owned(), attester: EvmAddress([0xab; 20]) }
    }

    fn row(change: impl FnOnce(&mut Value)) -> IndexedAttestation {
        let mut row = json!({
            "attestationId": "a1",
            "fullSchemaId": "onchain_evm_10_0x8",
            "attester": format!("0x{}", "AB".repeat(20)),
            "isReceiver": true,
            "revoked": false,
            "validUntil": 1_767_225_601,
        });
        change(&mut row);
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn a_row_that_keeps_every_part_of_the_rule_is_valid() {
        let found = IndexResult { valid_until: 1_767_225_601, attestation_id: Some("a1".to_owned()) };
        assert_eq!(valid(&row(|_| {}), &rule(), NOW), Some(found.clone()));
        assert_eq!(valid(&row(|row| row["validUntil"] = json!("1767225601")), &rule(), NOW), Some(found));
    }

    #[test]
    fn a_row_that_breaks_one_part_of_the_rule_is_not() {
        for (member, value) in [
            ("fullSchemaId", json!("onchain_evm_10_0x9")),
            ("fullSchemaId", json!("ONCHAIN_EVM_10_0X8")),
            ("attester", json!(format!("0x{}", "ac".repeat(20)))),
            ("attester", json!("somebody")),
            ("isReceiver", json!(false)),
            ("isReceiver", json!("true")),
            ("isReceiver", json!(null)),
            ("revoked", json!(true)),
            ("revoked", json!(null)),
            ("revoked", json!(0)),
            ("validUntil", json!(1_767_225_600)),
            ("validUntil", json!("1767225600")),
            ("validUntil", json!(0)),
            ("validUntil", json!("soon")),
            ("validUntil", json!("")),
            ("validUntil", json!(null)),
        ] {
            let row = row(|row| row[member] = value.clone());
            assert_eq!(valid(&row, &rule(), NOW), None, "{member} {value}");
        }
        assert_eq!(valid(&IndexedAttestation::default(), &rule(), NOW), None);
    }
}
