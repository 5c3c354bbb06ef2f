//! Proofs in contracts: the calls, and the meaning of their answers
//! (`docs/reference/behavior/verification.md#sources`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::Kind;
use pyxis_evm::abi::{self, Selector};
use pyxis_evm::{AbiWord, Call, CallResult, Chain};
use pyxis_signing::eip712::abi_words;

use crate::verdict::{CheckVerdict, Reason};

/// Position of the action id among the public values of a soulbound token.
const ACTION: usize = 2;
/// Position of the issuer.
const ISSUER: usize = 4;
/// The hub's message for a token that is missing or no longer valid.
const ABSENT: &str = "SBT is expired or does not exist";
/// The hub's message for a revoked token.
const REVOKED: &str = "SBT has been revoked";

static IS_UNIQUE_FOR_ACTION: LazyLock<Selector> =
    LazyLock::new(|| abi::selector("isUniqueForAction(address,uint256)"));
static US_RESIDENCY: LazyLock<Selector> = LazyLock::new(|| abi::selector("usResidency(address)"));
static GET_SBT: LazyLock<Selector> = LazyLock::new(|| abi::selector("getSBT(address,bytes32)"));

/// Contracts with proofs on a network. Absent ones are not queried.
#[derive(Clone, Debug, Default)]
pub struct Contracts {
    /// The older stores, by kind: `isUniqueForAction(address,uint256)`.
    pub unique: BTreeMap<Kind, EvmAddress>,
    /// `usResidency(address)`.
    pub residence: Option<EvmAddress>,
    /// The hub of soulbound tokens: `getSBT(address,bytes32)`.
    pub hub: Option<Hub>,
}

/// The hub of soulbound tokens.
#[derive(Clone, Debug)]
pub struct Hub {
    /// Address of the hub.
    pub address: EvmAddress,
    /// For each kind, the circuit of its tokens and their required issuer.
    pub circuits: BTreeMap<Kind, Circuit>,
}

/// The tokens of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Circuit {
    /// The circuit's id.
    pub id: AbiWord,
    /// The one trusted issuer.
    pub issuer: AbiWord,
}

/// A question to contracts, about the state after a block.
#[derive(Clone, Copy, Debug)]
pub struct ContractAnswers {
    /// Kind of proof.
    pub kind: Kind,
    /// Use of the proof; `None` allows any.
    pub action: Option<AbiWord>,
    /// Number of the block.
    pub block: u64,
    /// Timestamp of the block.
    pub at: UnixMillis,
}

/// A call about an address.
struct ContractQuery {
    to: EvmAddress,
    selector: Selector,
    /// The argument after the address.
    argument: Option<AbiWord>,
    shape: Shape,
}

/// A contract that gave no answer about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    pub contract: EvmAddress,
    pub cause: Cause,
}

/// Reasons for a contract's missing answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The call needs more gas or time than any node allows.
    #[error("the call needs more gas or time than the nodes allow")]
    Unfinished,
    /// It reverted with a reason that is not an answer.
    #[error("the contract reverted: {}", .0.as_deref().unwrap_or("without a reason"))]
    Reverted(Option<String>),
    /// It returned something that such a contract never does.
    #[error("the contract's response cannot be read; check its address")]
    Unreadable,
}

/// Interpretation of an answer.
#[derive(Clone, Copy)]
enum Shape {
    Boolean,
    Token(Circuit),
}

impl Contracts {
    /// True if any contract has proofs of this kind.
    pub fn know(&self, kind: Kind) -> bool {
        !self.questions(kind, Some([0; 32])).is_empty()
    }

    /// The calls for every address.
    fn questions(&self, kind: Kind, action: Option<AbiWord>) -> Vec<ContractQuery> {
        let mut all = Vec::new();
        if let (Some(to), Some(action)) = (self.unique.get(&kind), action) {
            let selector = *IS_UNIQUE_FOR_ACTION;
            all.push(ContractQuery { to: *to, selector, argument: Some(action), shape: Shape::Boolean });
        }
        if let Some(to) = self.residence.filter(|_| kind == Kind::ResidenceUs) {
            all.push(ContractQuery { to, selector: *US_RESIDENCY, argument: None, shape: Shape::Boolean });
        }
        if let Some(hub) = &self.hub
            && let Some(circuit) = hub.circuits.get(&kind)
        {
            let (to, selector, argument) = (hub.address, *GET_SBT, Some(circuit.id));
            all.push(ContractQuery { to, selector, argument, shape: Shape::Token(*circuit) });
        }
        all
    }
}

impl ContractQuery {
    fn call_for(&self, user: EvmAddress) -> Call {
        let who = abi_words::address(user);
        let data = match self.argument {
            Some(argument) => abi::call(self.selector, &[who, argument]),
            None => abi::call(self.selector, &[who]),
        };
        Call { to: self.to, data }
    }
}

/// The verdicts about addresses, in their order. An address for which one of the contracts gave no answer has no
/// verdict: an unreadable contract never means "no".
pub async fn query(
    chain: &Chain,
    contracts: &Contracts,
    asked: &ContractAnswers,
    users: &[EvmAddress],
) -> Result<Vec<Result<CheckVerdict, Silence>>, pyxis_evm::Error> {
    let questions = contracts.questions(asked.kind, asked.action);
    let calls: Vec<Call> =
        users.iter().flat_map(|user| questions.iter().map(|question| question.call_for(*user))).collect();
    let answers = chain.call_many(asked.block, &calls).await?;
    let of_user = |answers: &[CallResult]| {
        let mut verdict = CheckVerdict::Invalid(Reason::None);
        for (question, answer) in questions.iter().zip(answers) {
            let found = read(asked, question.shape, answer);
            verdict = verdict.or(found.map_err(|cause| Silence { contract: question.to, cause })?);
        }
        Ok(verdict)
    };
    // No calls for a kind that no contract has.
    Ok(match questions.len() {
        0 => vec![Ok(CheckVerdict::Invalid(Reason::None)); users.len()],
        count => answers.chunks(count).map(of_user).collect(),
    })
}

fn read(asked: &ContractAnswers, shape: Shape, answer: &CallResult) -> Result<CheckVerdict, Cause> {
    match (shape, answer) {
        (Shape::Boolean, CallResult::Data(data)) => match abi::AbiReader::new(data).boolean(0) {
            Some(true) => Ok(CheckVerdict::Valid(None)),
            Some(false) => Ok(CheckVerdict::Invalid(Reason::None)),
            None => Err(Cause::Unreadable),
        },
        (Shape::Token(circuit), CallResult::Data(data)) => {
            token(asked, circuit, abi::AbiReader::new(data)).ok_or(Cause::Unreadable)
        }
        (Shape::Token(_), CallResult::Reverted(Some(reason))) if reason == ABSENT => {
            Ok(CheckVerdict::Invalid(Reason::None))
        }
        (Shape::Token(_), CallResult::Reverted(Some(reason))) if reason == REVOKED => {
            Ok(CheckVerdict::Invalid(Reason::Revoked))
        }
        (_, CallResult::Reverted(reason)) => Err(Cause::Reverted(reason.clone())),
        (_, CallResult::Unfinished) => Err(Cause::Unfinished),
    }
}

/// `(uint256 expiry, uint256[] publicValues, bool revoked)`; `None` if the answer has another form.
fn token(asked: &ContractAnswers, circuit: Circuit, words: abi::AbiReader<'_>) -> Option<CheckVerdict> {
    words.word_at(0)?;
    let (length, values) = words.tail(1)?.array()?;
    let revoked = words.boolean(2)?;
    let value = |index: usize| values.word_at(index).filter(|_| index < length);
    let (action, issuer) = (value(ACTION)?, value(ISSUER)?);
    // An expiry beyond 64 bits is later than anything.
    let expiry = words.number(0).and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(i64::MAX / 1000);
    let until = UnixMillis(expiry.saturating_mul(1000));
    Some(if revoked {
        CheckVerdict::Invalid(Reason::Revoked)
    } else if issuer != circuit.issuer {
        CheckVerdict::Invalid(Reason::OtherIssuer)
    } else if asked.action.is_some_and(|wanted| wanted != action) {
        CheckVerdict::Invalid(Reason::OtherAction)
    } else if until <= asked.at {
        CheckVerdict::Invalid(Reason::Expired)
    } else {
        CheckVerdict::Valid(Some(until))
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn number_word(number: u64) -> AbiWord {
        abi_words::number(number)
    }

    fn evaluate_answer(expiry: u64, values: &[u64], revoked: u64) -> Result<CheckVerdict, Cause> {
        let asked = ContractAnswers {
            kind: Kind::GovId,
            action: Some(number_word(5)),
            block: 1,
            at: UnixMillis(1_000_000),
        };
        let circuit = Circuit { id: number_word(1), issuer: number_word(9) };
        let mut data = vec![
            number_word(expiry),
            number_word(96),
            number_word(revoked),
            number_word(values.len() as u64),
        ];
        data.extend(values.iter().map(|value| number_word(*value)));
        read(&asked, Shape::Token(circuit), &CallResult::Data(data.concat().into()))
    }

    #[test]
    fn a_token_counts_with_its_action_its_issuer_and_its_time() {
        assert_eq!(
            evaluate_answer(1001, &[0, 0, 5, 0, 9], 0).unwrap(),
            CheckVerdict::Valid(Some(UnixMillis(1_001_000)))
        );
        for (expiry, values, revoked, reason) in [
            (1000, [0, 0, 5, 0, 9], 0, Reason::Expired),
            (1001, [0, 0, 6, 0, 9], 0, Reason::OtherAction),
            (1001, [0, 0, 5, 0, 8], 0, Reason::OtherIssuer),
            (1001, [0, 0, 5, 0, 9], 1, Reason::Revoked),
        ] {
            assert_eq!(evaluate_answer(expiry, &values, revoked).unwrap(), CheckVerdict::Invalid(reason));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_understood_is_never_a_no() {
        assert!(evaluate_answer(1001, &[0, 0, 5], 0).is_err());
        assert!(evaluate_answer(1001, &[0, 0, 5, 0, 9], 2).is_err());
        let asked = ContractAnswers { kind: Kind::GovId, action: None, block: 1, at: UnixMillis(0) };
        let circuit = Circuit { id: number_word(1), issuer: number_word(9) };
        for answer in [
            CallResult::Data(Bytes::new()),
            CallResult::Data(vec![0; 31].into()),
            CallResult::Reverted(None),
            CallResult::Reverted(Some("paused".to_owned())),
            CallResult::Unfinished,
        ] {
            assert!(read(&asked, Shape::Boolean, &answer).is_err(), "{answer:?}");
            assert!(read(&asked, Shape::Token(circuit), &answer).is_err(), "{answer:?}");
        }
        let absent = CallResult::Reverted(Some(ABSENT.to_owned()));
        assert!(read(&asked, Shape::Boolean, &absent).is_err());
        assert_eq!(
            read(&asked, Shape::Token(circuit), &absent).unwrap(),
            CheckVerdict::Invalid(Reason::None)
        );
    }
}
