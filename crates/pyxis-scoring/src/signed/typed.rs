//! A score as typed data (EIP-712) for EVM contracts.

use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::abi_words::{self, AbiWord, address, boolean, number, text};
use serde_json::{Value, json};

use super::statement::ScoreStatement;

/// Name of the EIP-712 domain.
pub const SCORE_DOMAIN: &str = "Pyxis Score";
/// Version of the EIP-712 domain.
pub const SCORE_VERSION: &str = "1";
const SCORE: &str = "Score(uint256 scorer,address account,uint256 score,uint256 threshold,bool passing,\
                     uint64 computedAt,uint64 issuedAt,uint64 expiresAt,string challenge)";

/// Request for typed data: for which contract it is and what it answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypedRequest<'a> {
    pub chain_id: Option<u64>,
    /// Only with a chain.
    pub verifying_contract: Option<EvmAddress>,
    pub challenge: Option<&'a str>,
}

/// The hash to sign.
pub(super) fn signing_hash(of: &ScoreStatement, asked: TypedRequest<'_>) -> AbiWord {
    let seconds = |seconds: i64| number(u64::try_from(seconds).unwrap_or(0));
    let message = abi_words::hash_struct(
        SCORE,
        &[
            number(of.scorer.get().unsigned_abs()),
            address(of.address),
            number(of.score),
            number(of.threshold),
            boolean(of.passing),
            seconds(of.computed_at),
            seconds(of.issued_at),
            seconds(of.expires_at),
            text(asked.challenge.unwrap_or_default()),
        ],
    );
    let domain = match (asked.chain_id, asked.verifying_contract) {
        (Some(chain), Some(contract)) => {
            abi_words::domain_of_contract(SCORE_DOMAIN, SCORE_VERSION, chain, contract)
        }
        (chain, _) => abi_words::domain(SCORE_DOMAIN, SCORE_VERSION, chain),
    };
    abi_words::signing_hash(domain, message)
}

/// The JSON that wallets and libraries take. Integers of 256 bits are text, because JSON readers round large numbers.
pub fn typed_data(of: &ScoreStatement, asked: TypedRequest<'_>) -> Value {
    let member = |(name, kind): (&str, &str)| json!({ "name": name, "type": kind });
    let mut domain = json!({ "name": SCORE_DOMAIN, "version": SCORE_VERSION });
    let mut domain_type = vec![("name", "string"), ("version", "string")];
    if let Some(chain) = asked.chain_id {
        domain["chainId"] = chain.into();
        domain_type.push(("chainId", "uint256"));
        if let Some(contract) = asked.verifying_contract {
            domain["verifyingContract"] = json!(contract);
            domain_type.push(("verifyingContract", "address"));
        }
    }
    let members = SCORE.trim_start_matches("Score(").trim_end_matches(')').split(',');
    let score_type = members.filter_map(|member| member.split_once(' ')).map(|(kind, name)| (name, kind));
    json!({
        "types": {
            "EIP712Domain": domain_type.into_iter().map(member).collect::<Vec<_>>(),
            "Score": score_type.map(member).collect::<Vec<_>>(),
        },
        "primaryType": "Score",
        "domain": domain,
        "message": {
            "scorer": of.scorer.get().to_string(),
            "account": of.address,
            "score": of.score.to_string(),
            "threshold": of.threshold.to_string(),
            "passing": of.passing,
            "computedAt": of.computed_at,
            "issuedAt": of.issued_at,
            "expiresAt": of.expires_at,
            "challenge": asked.challenge.unwrap_or_default(),
        },
    })
}

#[cfg(test)]
mod tests {
    use pyxis_signing::eip712;

    use super::*;

    /// The general hasher reads the JSON and knows nothing of this module's constants.
    #[test]
    fn the_typed_data_has_the_hash_that_is_signed() {
        let of = ScoreStatement {
            scorer: "335".parse().unwrap(),
            address: EvmAddress([0xab; 20]),
            score: 2_259_800,
            threshold: 2_000_000,
            passing: true,
            computed_at: 1_767_225_600,
            issued_at: 1_767_225_900,
            expires_at: 1_767_229_200,
        };
        let contract = Some(EvmAddress([0xcc; 20]));
        let mut hashes = Vec::new();
        for asked in [
            TypedRequest::default(),
            TypedRequest { chain_id: Some(10), ..TypedRequest::default() },
            TypedRequest { chain_id: Some(10), verifying_contract: contract, challenge: None },
            TypedRequest { chain_id: Some(10), verifying_contract: contract, challenge: Some("a \"b\"") },
        ] {
            let hash = signing_hash(&of, asked);
            let read = eip712::read(typed_data(&of, asked).to_string().as_bytes()).unwrap();
            assert_eq!(read.digest, hash, "{asked:?}");
            assert!(!hashes.contains(&hash), "{asked:?}");
            hashes.push(hash);
        }
        let failing = ScoreStatement { passing: false, ..of.clone() };
        assert_ne!(signing_hash(&failing, TypedRequest::default()), hashes[0]);
    }
}
