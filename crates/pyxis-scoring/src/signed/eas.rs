//! A score as an attestation of the Ethereum Attestation Service (EAS), in the schema of Passport's scores on
//! chain. It is signed off chain (version 2 of EAS' format), or as calldata that a wallet sends.

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_signing::eip712::abi_words::{self, AbiWord, address, boolean, keccak, number};
use serde::Deserialize;
use serde_json::{Value, json};

use super::statement::ScoreStatement;
use crate::address::checksummed;

/// Schema of the attestations.
pub const EAS_SCHEMA: &str = "bool passing_score, uint8 score_decimals, uint128 scorer_id, uint32 score, uint32 threshold, \
                              tuple(string provider, uint256 score)[] stamps";
/// Decimals of scores in the schema.
const DECIMALS: u64 = 4;
/// One step of the schema's scores, in hundred-thousandths.
const STEP: u64 = 10;
const ATTEST: &str = "Attest(uint16 version,bytes32 schema,address recipient,uint64 time,uint64 expirationTime,\
                      bool revocable,bytes32 refUID,bytes data,bytes32 salt)";
/// Version of EAS' off-chain format.
const FORMAT: u64 = 2;
/// Domain of off-chain attestations. EAS' SDK accepts the version of any of its contracts.
const DOMAIN: (&str, &str) = ("EAS Attestation", "1.4.0");
/// `attest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)))`.
const ATTEST_SELECTOR: [u8; 4] = [0xf1, 0x73, 0x25, 0xe7];

/// The score needs more than the schema's 32 bits.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the score or threshold exceeds 429496.7295, the most that the schema holds")]
pub(super) struct TooLarge;

/// Contract and schema of an attestation.
#[derive(Clone, Copy, Debug)]
pub struct EasRequest {
    pub chain_id: u64,
    /// EAS contract on this chain.
    pub contract: EvmAddress,
    /// UID under which the schema is registered there.
    pub schema: AbiWord,
}

/// An attestation before it is signed.
pub(super) struct EasAttestation {
    asked: EasRequest,
    recipient: EvmAddress,
    time: i64,
    expires_at: i64,
    data: Vec<u8>,
    salt: AbiWord,
}

#[derive(Deserialize)]
struct Stamps {
    stamps: BTreeMap<String, StampScore>,
}

#[derive(Deserialize)]
struct StampScore {
    score: String,
}

/// UID of the schema, registered with this resolver.
pub fn schema_uid(resolver: EvmAddress, revocable: bool) -> AbiWord {
    keccak(&[EAS_SCHEMA.as_bytes(), &resolver.0, &[u8::from(revocable)]].concat())
}

impl EasAttestation {
    /// The attestation of a score with the Stamps of its record.
    pub(super) fn build(of: &ScoreStatement, record: &str, asked: EasRequest) -> Result<Self, TooLarge> {
        let stamps = serde_json::from_str::<Stamps>(record).map(|read| read.stamps).unwrap_or_default();
        let data = encoded(of, &stamps)?;
        let mut salted =
            [asked.schema, address(of.address), seconds(of.issued_at), seconds(of.expires_at)].concat();
        salted.extend_from_slice(&data);
        Ok(Self {
            asked,
            recipient: of.address,
            time: of.issued_at,
            expires_at: of.expires_at,
            salt: keccak(&salted),
            data,
        })
    }

    /// The hash to sign.
    pub(super) fn signing_hash(&self) -> AbiWord {
        let message = abi_words::hash_struct(
            ATTEST,
            &[
                number(FORMAT),
                self.asked.schema,
                address(self.recipient),
                seconds(self.time),
                seconds(self.expires_at),
                boolean(false),
                [0; 32],
                keccak(&self.data),
                self.salt,
            ],
        );
        let (name, version) = DOMAIN;
        let domain = abi_words::domain_of_contract(name, version, self.asked.chain_id, self.asked.contract);
        abi_words::signing_hash(domain, message)
    }

    /// UID of the off-chain attestation.
    fn uid(&self) -> AbiWord {
        let mut packed = vec![0, 2];
        // EAS packs the UID's text here, not its bytes.
        packed.extend_from_slice(text(&self.asked.schema).as_bytes());
        packed.extend_from_slice(&self.recipient.0);
        packed.extend_from_slice(&[0; 20]);
        packed.extend_from_slice(&seconds(self.time)[24..]);
        packed.extend_from_slice(&seconds(self.expires_at)[24..]);
        packed.push(0);
        packed.extend_from_slice(&[0; 32]);
        packed.extend_from_slice(&self.data);
        packed.extend_from_slice(&self.salt);
        packed.extend_from_slice(&[0; 4]);
        keccak(&packed)
    }

    /// The JSON that EAS' SDK verifies. Addresses have their checksum, because it compares them as text.
    pub(super) fn to_json(&self, signature: &[u8; 65]) -> Value {
        let member = |member: &str| {
            let (kind, name) = member.split_once(' ').unwrap_or_default();
            json!({ "name": name, "type": kind })
        };
        let members = ATTEST.trim_start_matches("Attest(").trim_end_matches(')').split(',');
        let (name, version) = DOMAIN;
        json!({
            "version": FORMAT,
            "uid": text(&self.uid()),
            "domain": {
                "name": name, "version": version, "chainId": self.asked.chain_id.to_string(),
                "verifyingContract": checksummed(self.asked.contract),
            },
            "primaryType": "Attest",
            "types": { "Attest": members.map(member).collect::<Vec<_>>() },
            "message": {
                "version": FORMAT,
                "schema": text(&self.asked.schema),
                "recipient": checksummed(self.recipient),
                "time": self.time.to_string(),
                "expirationTime": self.expires_at.to_string(),
                "revocable": false,
                "refUID": text(&[0; 32]),
                "data": format!("0x{}", hex::encode(&self.data)),
                "salt": text(&self.salt),
            },
            "signature": {
                "r": format!("0x{}", hex::encode(&signature[..32])),
                "s": format!("0x{}", hex::encode(&signature[32..64])),
                "v": signature[64],
            },
        })
    }

    /// Calldata of `attest` of the EAS contract, for a wallet that pays and becomes the attester.
    pub(super) fn calldata(&self) -> String {
        let head = |words: &[AbiWord]| words.concat();
        let mut data = ATTEST_SELECTOR.to_vec();
        data.extend(head(&[
            number(0x20),
            self.asked.schema,
            number(0x40),
            address(self.recipient),
            seconds(self.expires_at),
            // The sender may revoke it.
            boolean(true),
            [0; 32],
            number(0xc0),
            number(0),
        ]));
        data.extend(bytes(&self.data));
        format!("0x{}", hex::encode(&data))
    }
}

/// `abi.encode` of the schema's values. The score is rounded down and the threshold up, so that rounding never makes a
/// failing score look like a passing one.
fn encoded(of: &ScoreStatement, stamps: &BTreeMap<String, StampScore>) -> Result<Vec<u8>, TooLarge> {
    let short = |units: u64| u32::try_from(units).map(|units| number(units.into())).map_err(|_| TooLarge);
    let units = |text: &str| text.replace('.', "").parse::<u64>().unwrap_or_default();
    let counting: Vec<(&str, u64)> = stamps
        .iter()
        .map(|(name, stamp)| (name.as_str(), units(&stamp.score) / STEP))
        .filter(|(_, score)| *score > 0)
        .collect();
    let entries: Vec<Vec<u8>> = counting
        .iter()
        .map(|(name, score)| [[number(0x40), number(*score)].concat(), bytes(name.as_bytes())].concat())
        .collect();
    let mut data = [
        boolean(of.passing),
        number(DECIMALS),
        number(of.scorer.get().unsigned_abs()),
        short(of.score / STEP)?,
        short(of.threshold.div_ceil(STEP))?,
        number(6 * 32),
        number(entries.len() as u64),
    ]
    .concat();
    let mut offset = 32 * entries.len() as u64;
    for entry in &entries {
        data.extend_from_slice(&number(offset));
        offset += entry.len() as u64;
    }
    data.extend(entries.concat());
    Ok(data)
}

/// A `bytes` or `string` value: its length, and its bytes padded to whole words.
fn bytes(value: &[u8]) -> Vec<u8> {
    let mut encoded = number(value.len() as u64).to_vec();
    encoded.extend_from_slice(value);
    encoded.resize(encoded.len().next_multiple_of(32), 0);
    encoded
}

fn seconds(seconds: i64) -> AbiWord {
    number(u64::try_from(seconds).unwrap_or(0))
}

fn text(word: &AbiWord) -> String {
    format!("0x{}", hex::encode(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str =
        r#"{"stamps":{"A":{"score":"12.50009"},"B#1":{"score":"10.00000"},"C":{"score":"0.00000"}}}"#;

    fn statement() -> ScoreStatement {
        ScoreStatement {
            scorer: "335".parse().unwrap(),
            address: EvmAddress([0xab; 20]),
            score: 2_250_009,
            threshold: 2_000_001,
            passing: true,
            computed_at: 1_767_225_600,
            issued_at: 1_767_225_900,
            expires_at: 1_767_229_200,
        }
    }

    fn eas_request() -> EasRequest {
        EasRequest {
            chain_id: 10,
            contract: EvmAddress([0xcc; 20]),
            schema: schema_uid(EvmAddress([0; 20]), true),
        }
    }

    /// Computed with ethers 6: `solidityPackedKeccak256`.
    #[test]
    fn the_schema_has_the_uid_that_the_registry_gives_it() {
        let uid = "0xb99ed4dc2c0e78b04b95d375172b5c0753a67cfc0636befe0be7fc550933542c";
        assert_eq!(text(&schema_uid(EvmAddress([0; 20]), true)), uid);
    }

    /// Encoded, hashed and packed with ethers 6 by `data/eas.mjs`.
    #[test]
    fn data_uid_hash_and_calldata_are_those_of_another_library() {
        let expected: Value = serde_json::from_str(include_str!("../../data/eas.json")).unwrap();
        let made = EasAttestation::build(&statement(), RECORD, eas_request()).unwrap();
        let json = made.to_json(&[0; 65]);
        assert_eq!(json["message"]["data"], expected["data"]);
        assert_eq!(json["uid"], expected["uid"]);
        assert_eq!(text(&made.signing_hash()), expected["hash"]);
        assert_eq!(made.calldata(), expected["calldata"]);
    }

    #[test]
    fn rounding_never_lets_a_failing_score_look_like_a_passing_one() {
        let words = |of: &ScoreStatement| {
            let data = encoded(of, &BTreeMap::new()).unwrap();
            [data[3 * 32..4 * 32].to_vec(), data[4 * 32..5 * 32].to_vec()]
        };
        let failing =
            ScoreStatement { score: 2_000_000, threshold: 2_000_001, passing: false, ..statement() };
        let [score, threshold] = words(&failing);
        assert!(score < threshold);
        let most = u64::from(u32::MAX) * STEP;
        assert!(encoded(&ScoreStatement { score: most + 9, ..statement() }, &BTreeMap::new()).is_ok());
        assert!(encoded(&ScoreStatement { score: most + 10, ..statement() }, &BTreeMap::new()).is_err());
        assert!(encoded(&ScoreStatement { threshold: most + 1, ..statement() }, &BTreeMap::new()).is_err());
    }
}
