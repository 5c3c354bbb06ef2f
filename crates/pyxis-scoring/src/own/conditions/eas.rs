//! Attestations of EAS.

use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_evm::abi::{self, AbiReader, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use super::{About, Cause, Condition, Holding, Item, Kind, SettingError, Settings, Step, data, single_word};

static GET_ATTESTATION: LazyLock<Selector> = LazyLock::new(|| abi::selector("getAttestation(bytes32)"));
static GET_UID: LazyLock<Selector> = LazyLock::new(|| abi::selector("getAttestationUid(address,bytes32)"));

pub(super) const KIND: Kind = Kind {
    name: "eas",
    meaning: "The address is the recipient of an EAS attestation that is neither revoked nor expired.",
    settings: &[
        ("contract", "address of the EAS contract"),
        ("schema", "UID of the schema"),
        ("attester", "address that must have attested"),
        (
            "indexer",
            "contract with getAttestationUid(address,bytes32), such as Coinbase's; without one, the holder names the \
             attestation's UID",
        ),
    ],
    read,
};

struct Eas {
    contract: EvmAddress,
    schema: AbiWord,
    attester: EvmAddress,
    indexer: Option<EvmAddress>,
}

fn read(settings: &mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError> {
    Ok(Box::new(Eas {
        contract: settings.address("contract")?,
        schema: settings.bytes32("schema")?,
        attester: settings.address("attester")?,
        indexer: settings.optional_address("indexer")?,
    }))
}

impl Condition for Eas {
    fn items(&self) -> Item {
        if self.indexer.is_some() { Item::None } else { Item::Attestation }
    }

    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        match (self.indexer, answers) {
            (Some(indexer), []) => {
                let arguments = [abi_words::address(about.address), self.schema];
                Ok(Step::Ask(vec![Call { to: indexer, data: abi::call(*GET_UID, &arguments) }]))
            }
            (Some(_), [uid]) => match single_word(uid)? {
                none if none == [0; 32] => Ok(Step::Fails("the indexer knows no attestation".to_owned())),
                uid => Ok(self.attestation_query(uid)),
            },
            (None, []) => Ok(self.attestation_query(about.items.first().copied().unwrap_or_default())),
            (_, [.., attestation]) => self.evaluate(about, attestation),
        }
    }
}

impl Eas {
    fn attestation_query(&self, uid: AbiWord) -> Step {
        Step::Ask(vec![Call { to: self.contract, data: abi::call(*GET_ATTESTATION, &[uid]) }])
    }

    /// `(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID,
    /// address recipient, address attester, bool revocable, bytes data)`; all zero where there is none.
    fn evaluate(&self, about: &About<'_>, answer: &CallResult) -> Result<Step, Cause> {
        let fields = AbiReader::new(data(answer)?).tail(0).ok_or(Cause::Unreadable)?;
        let read = |index| fields.word_at(index).ok_or(Cause::Unreadable);
        let number = |index| fields.number(index).ok_or(Cause::Unreadable);
        let (expires, revoked) = (number(3)?, number(4)?);
        // An end beyond the years of a clock is none.
        let expires_at =
            i64::try_from(expires).ok().filter(|at| *at != 0).and_then(|at| at.checked_mul(1000));
        let expires_at = expires_at.map(UnixMillis);
        let fault = if read(0)? == [0; 32] {
            "there is no such attestation"
        } else if read(1)? != self.schema {
            "the attestation has another schema"
        } else if read(7)? != abi_words::address(self.attester) {
            "the attestation is by another attester"
        } else if read(6)? != abi_words::address(about.address) {
            "the attestation is about another address"
        } else if revoked != 0 {
            "the attestation is revoked"
        } else if expires_at.is_some_and(|at| at <= about.at) {
            "the attestation is expired"
        } else {
            return Ok(Step::Holds(Holding { expires_at, ..Holding::for_address(about.address) }));
        };
        Ok(Step::Fails(fault.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: EvmAddress = EvmAddress([1; 20]);
    const ATTESTER: EvmAddress = EvmAddress([2; 20]);
    const EAS: Eas =
        Eas { contract: EvmAddress([3; 20]), schema: [4; 32], attester: ATTESTER, indexer: None };

    fn attestation(change: impl FnOnce(&mut [AbiWord; 11])) -> Result<Step, Cause> {
        let mut fields = [[0; 32]; 11];
        (fields[0], fields[1]) = ([9; 32], [4; 32]);
        (fields[6], fields[7]) = (abi_words::address(HOLDER), abi_words::address(ATTESTER));
        fields[9] = abi_words::number(320);
        change(&mut fields);
        let data = [&abi_words::number(32)[..], fields.as_flattened()].concat();
        let about = About { address: HOLDER, items: &[[9; 32]], chain_id: 1, at: UnixMillis(5_000_000) };
        EAS.step(&about, &[CallResult::Data(data.into())])
    }

    fn fault(change: impl FnOnce(&mut [AbiWord; 11])) -> String {
        match attestation(change) {
            Ok(Step::Fails(fault)) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_attestation_counts_with_its_schema_attester_recipient_and_time() {
        assert!(matches!(attestation(|_| ()), Ok(Step::Holds(Holding { expires_at: None, .. }))));
        let later = attestation(|fields| fields[3] = abi_words::number(5_001));
        assert!(matches!(later, Ok(Step::Holds(Holding { expires_at: Some(UnixMillis(5_001_000)), .. }))));
        assert!(fault(|fields| fields[3] = abi_words::number(5_000)).contains("expired"));
        assert!(fault(|fields| fields[4] = abi_words::number(1)).contains("revoked"));
        assert!(fault(|fields| fields[0] = [0; 32]).contains("no such"));
        assert!(fault(|fields| fields[1] = [5; 32]).contains("schema"));
        assert!(fault(|fields| fields[6] = abi_words::address(ATTESTER)).contains("about another"));
        assert!(fault(|fields| fields[7] = abi_words::address(HOLDER)).contains("attester"));
    }

    #[test]
    fn an_answer_that_cannot_be_understood_is_never_a_no() {
        let about = About { address: HOLDER, items: &[[9; 32]], chain_id: 1, at: UnixMillis(0) };
        for answer in [
            CallResult::Data(Vec::new().into()),
            CallResult::Data(vec![0; 64].into()),
            CallResult::Reverted(Some("paused".to_owned())),
            CallResult::Unfinished,
        ] {
            assert!(EAS.step(&about, std::slice::from_ref(&answer)).is_err(), "{answer:?}");
        }
        assert!(attestation(|fields| fields[4] = [0xff; 32]).is_err());
    }
}
