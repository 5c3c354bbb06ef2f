//! The answer of any function of a contract.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_core::stamp::{InvalidNullifier, Nullifier};
use pyxis_evm::abi::{self, AbiReader, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use super::{About, Cause, Condition, Holding, Kind, SettingError, Settings, Step, data};
use crate::address;
use crate::own::amount;

/// Argument that stands for the holder's address.
const HOLDER: &str = "{holder}";
/// Maximum number of arguments.
const MAX_ARGUMENTS: usize = 16;
/// Highest place of a returned word.
const MAX_PLACE: u8 = 63;
/// Value of an address without an identity.
const NOBODY: AbiWord = [0; 32];

pub(super) const KIND: Kind = Kind {
    name: "call",
    meaning: "A function of a contract returns a value, or at least a value.",
    settings: &[
        ("contract", "address of the contract"),
        ("function", "its signature, for example isVerified(address); arguments of fixed size only"),
        ("arguments", "values with commas between them; {holder} is the holder's address [{holder}]"),
        ("equals", "the value: true, false, a number, an address, or 0x and hex digits"),
        ("at_least", "the least number; instead of equals"),
        ("result", "place of the value among the returned words, 0 to 63 [0]"),
        ("reverts", "meaning of a revert: `error`, or `no` where the contract reverts for strangers [error]"),
        (
            "dedup",
            "`address`: the Stamp counts for each address; `result`: the value is an identity, and each counts for one \
             address at a time; 0 is none [address]",
        ),
    ],
    read,
};

enum Comparison {
    Equals(AbiWord),
    AtLeast(AbiWord),
}

enum Argument {
    Holder,
    Value(AbiWord),
}

struct FunctionCall {
    contract: EvmAddress,
    selector: Selector,
    arguments: Vec<Argument>,
    comparison: Comparison,
    place: usize,
    revert_is_no: bool,
    /// The source of identities; `None`: the value is no identity.
    identities: Option<IdentitySource>,
}

/// A function that returns an identity, such as a person's number. Sources that may give one number to two persons
/// differ.
struct IdentitySource(String);

fn read(settings: &mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError> {
    let contract = settings.address("contract")?;
    let function = settings.text("function")?;
    let arguments = arguments(function, settings.optional("arguments").unwrap_or(HOLDER))?;
    let comparison = match (settings.optional("equals"), settings.optional("at_least")) {
        (Some(text), None) => Comparison::Equals(value(text).ok_or_else(|| {
            let detail = "write true, false, a number, an address, or 0x and up to 64 hex digits";
            SettingError::new("equals", format!("{text:?}: {detail}"))
        })?),
        (None, Some(_)) => Comparison::AtLeast(settings.at_least()?),
        _ => return Err(SettingError::new("equals", "set either equals or at_least")),
    };
    let place = settings.optional("result").unwrap_or("0");
    let place = place.parse::<u8>().ok().filter(|place| *place <= MAX_PLACE);
    let place = place.ok_or_else(|| SettingError::new("result", format!("must be 0 to {MAX_PLACE}")))?;
    let identities = match settings.choice("dedup", &["address", "result"])? {
        "address" => None,
        _ => Some(identities(contract, function, settings, place)?),
    };
    if identities.is_some() && matches!(comparison, Comparison::Equals(NOBODY)) {
        return Err(SettingError::new("equals", "cannot be 0 with dedup=result: strangers have no identity"));
    }
    Ok(Box::new(FunctionCall {
        contract,
        selector: abi::selector(function),
        arguments,
        comparison,
        place: place.into(),
        revert_is_no: settings.choice("reverts", &["error", "no"])? == "no",
        identities,
    }))
}

/// The source of identities. Its name has everything that tells it from another one of the same contract.
fn identities(
    contract: EvmAddress,
    function: &str,
    settings: &Settings<'_>,
    place: u8,
) -> Result<IdentitySource, SettingError> {
    let mut name = format!("call:{contract}/{function}");
    let arguments = settings.optional("arguments").unwrap_or(HOLDER);
    if arguments.trim() != HOLDER {
        let list: Vec<String> = arguments.split(',').map(|text| text.trim().to_ascii_lowercase()).collect();
        name = format!("{name};{}", list.join(","));
    }
    if place > 0 {
        name = format!("{name};{place}");
    }
    let source = IdentitySource(name);
    if source.nullifier(u64::MAX, &[0xff; 32]).is_err() {
        let detail = "the function and its arguments are too long for a nullifier; use dedup=address";
        return Err(SettingError::new("dedup", detail));
    }
    Ok(source)
}

impl IdentitySource {
    fn nullifier(&self, chain_id: u64, identity: &AbiWord) -> Result<Nullifier, InvalidNullifier> {
        format!("eip155:{chain_id}/{}/{}", self.0, amount::to_decimal(identity)).parse()
    }
}

impl Condition for FunctionCall {
    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        let Some(answer) = answers.first() else {
            let word = |argument: &Argument| match argument {
                Argument::Holder => abi_words::address(about.address),
                Argument::Value(word) => *word,
            };
            let arguments: Vec<AbiWord> = self.arguments.iter().map(word).collect();
            return Ok(Step::Ask(vec![Call {
                to: self.contract,
                data: abi::call(self.selector, &arguments),
            }]));
        };
        if self.revert_is_no
            && let CallResult::Reverted(reason) = answer
        {
            let reason = reason.as_deref().unwrap_or("without a reason");
            return Ok(Step::Fails(format!("the contract reverted: {reason}")));
        }
        let found = AbiReader::new(data(answer)?).word_at(self.place).ok_or(Cause::Unreadable)?;
        let holds = match &self.comparison {
            Comparison::Equals(wanted) => found == *wanted,
            Comparison::AtLeast(least) => found >= *least,
        };
        Ok(match &self.identities {
            None if holds => Step::Holds(Holding::for_address(about.address)),
            // All strangers have it, so it is nobody's identity.
            Some(source) if holds && found != NOBODY => {
                let nullifier = source.nullifier(about.chain_id, &found).map_err(|_| Cause::Unreadable)?;
                Step::Holds(Holding { nullifiers: vec![nullifier], expires_at: None })
            }
            _ => Step::Fails(format!("the contract returned 0x{}", hex::encode(&found))),
        })
    }
}

/// The arguments of a function, checked against its signature.
fn arguments(function: &str, given: &str) -> Result<Vec<Argument>, SettingError> {
    let wrong = |detail: String| SettingError::new("function", detail);
    let types = function
        .strip_suffix(')')
        .and_then(|text| text.split_once('('))
        .filter(|(name, _)| is_name(name))
        .map(|(_, types)| types)
        .ok_or_else(|| {
            wrong(format!("{function:?}: write its name and types, such as isVerified(address)"))
        })?;
    let types: Vec<&str> = if types.is_empty() { Vec::new() } else { types.split(',').collect() };
    let given: Vec<&str> =
        if given.is_empty() { Vec::new() } else { given.split(',').map(str::trim).collect() };
    if types.len() > MAX_ARGUMENTS {
        return Err(wrong(format!("takes at most {MAX_ARGUMENTS} arguments")));
    }
    if types.len() != given.len() {
        let count = |count: usize| format!("{count} argument{}", if count == 1 { "" } else { "s" });
        let detail = format!("{function} takes {}, not {}", count(types.len()), given.len());
        return Err(SettingError::new("arguments", detail));
    }
    let list = types.into_iter().zip(given).map(|(kind, text)| argument(kind, text));
    let list = list.collect::<Result<Vec<_>, _>>()?;
    if list.iter().any(|argument| matches!(argument, Argument::Holder)) {
        Ok(list)
    } else {
        Err(SettingError::new(
            "arguments",
            format!("one of them must be {HOLDER}, or the answer is the same for all"),
        ))
    }
}

fn argument(kind: &str, text: &str) -> Result<Argument, SettingError> {
    let wrong = |expected: &str| {
        SettingError::new("arguments", format!("{text:?} is not a value of {kind}; {expected}"))
    };
    let number = |prefix: &str| {
        let bits: Option<u16> = kind.strip_prefix(prefix).and_then(|bits| bits.parse().ok());
        bits.filter(|bits| bits % 8 == 0 && (8..=256).contains(bits))
    };
    match kind {
        "address" if text == HOLDER => Ok(Argument::Holder),
        "address" => address::read(text)
            .map(|address| Argument::Value(abi_words::address(address)))
            .map_err(|error| wrong(&error.to_string())),
        "bool" => match text {
            "true" | "false" => Ok(Argument::Value(abi_words::boolean(text == "true"))),
            _ => Err(wrong("write true or false")),
        },
        _ if number("uint").is_some() => {
            let bytes = usize::from(number("uint").unwrap_or_default() / 8);
            let word = amount::read(text).filter(|word| word[..32 - bytes].iter().all(|byte| *byte == 0));
            word.map(Argument::Value).ok_or_else(|| wrong("write a whole number that fits it"))
        }
        _ if kind.starts_with("bytes") && kind.len() > 5 => {
            let length: Option<usize> = kind[5..].parse().ok().filter(|length| (1..=32).contains(length));
            let length = length.ok_or_else(|| unsupported(kind))?;
            let bytes = hex::decode_prefixed(text).filter(|bytes| bytes.len() == length);
            let bytes = bytes.ok_or_else(|| wrong(&format!("write 0x and {} hex digits", 2 * length)))?;
            let mut word = [0; 32];
            word[..length].copy_from_slice(&bytes);
            Ok(Argument::Value(word))
        }
        _ => Err(unsupported(kind)),
    }
}

fn unsupported(kind: &str) -> SettingError {
    let detail = "use address, bool, uint8 to uint256, or bytes1 to bytes32, written in full";
    SettingError::new("function", format!("the type {kind:?} is not supported; {detail}"))
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    !name.is_empty() && name.bytes().all(fits) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// A value to compare with.
fn value(text: &str) -> Option<AbiWord> {
    match text {
        "true" | "false" => Some(abi_words::boolean(text == "true")),
        _ => amount::read(text),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pyxis_core::clock::UnixMillis;

    use super::*;

    fn refused(settings: &[(&str, &str)]) -> (String, String) {
        let contract = [("contract", "0x1111111111111111111111111111111111111111")];
        let all = contract.iter().chain(settings);
        let given: BTreeMap<String, String> =
            all.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        match Settings::read(&KIND, &given) {
            Ok(_) => (String::new(), String::new()),
            Err(error) => (error.name, error.detail),
        }
    }

    #[test]
    fn a_function_and_its_arguments_are_checked_before_anything_is_asked() {
        let equals = ("equals", "true");
        for (function, arguments) in [
            ("isVerified(address)", None),
            (
                "score(bytes32,address,uint8,bool,bytes4)",
                Some(
                    "0x1111111111111111111111111111111111111111111111111111111111111111, {holder}, 255, true, 0x01020304",
                ),
            ),
        ] {
            let settings: Vec<_> = [("function", function), equals]
                .into_iter()
                .chain(arguments.map(|text| ("arguments", text)))
                .collect();
            assert_eq!(refused(&settings), Default::default(), "{function}");
        }
        for (function, arguments, name) in [
            ("isVerified", "{holder}", "function"),
            ("9(address)", "{holder}", "function"),
            ("f(string)", "{holder}", "function"),
            ("f(uint)", "1", "function"),
            ("f(address, uint256)", "{holder},1", "function"),
            ("f(address)", "", "arguments"),
            ("f(address,uint8)", "{holder},256", "arguments"),
            ("f(uint256)", "{holder}", "arguments"),
            ("f(address)", "0x2222222222222222222222222222222222222222", "arguments"),
            ("f(address,bytes4)", "{holder},0x01", "arguments"),
        ] {
            let found = refused(&[("function", function), ("arguments", arguments), equals]);
            assert_eq!(found.0, name, "{function} {arguments}: {}", found.1);
        }
        let function = ("function", "f(address)");
        assert_eq!(refused(&[function]).0, "equals");
        assert_eq!(refused(&[function, equals, ("at_least", "1")]).0, "equals");
        assert_eq!(refused(&[function, ("at_least", "0")]).0, "at_least");
        assert_eq!(refused(&[function, equals, ("result", "64")]).0, "result");
        assert_eq!(refused(&[function, equals, ("reverts", "yes")]).0, "reverts");
    }

    #[test]
    fn an_identity_needs_a_condition_that_no_stranger_meets_and_room_for_its_nullifier() {
        let (function, by_result) = (("function", "f(address)"), ("dedup", "result"));
        assert_eq!(refused(&[function, ("at_least", "1"), by_result]), Default::default());
        assert_eq!(refused(&[function, ("equals", "7"), by_result]), Default::default());
        assert_eq!(refused(&[function, by_result]).0, "equals");
        for nobody in ["0", "false", "0x00"] {
            assert_eq!(refused(&[function, ("equals", nobody), by_result]).0, "equals", "{nobody}");
        }
        assert_eq!(refused(&[function, ("equals", "0")]), Default::default(), "no identity");
        assert_eq!(refused(&[function, ("at_least", "1"), ("dedup", "value")]).0, "dedup");
        let long = format!("{}(address)", "f".repeat(100));
        assert_eq!(refused(&[("function", &long), ("at_least", "1"), by_result]).0, "dedup");
    }

    #[test]
    fn one_number_of_two_sources_is_two_identities() {
        let given = |settings: &[(&str, &str)]| {
            let contract = ("contract", "0x1111111111111111111111111111111111111111");
            let all = [contract, ("at_least", "1"), ("dedup", "result")];
            let all = all.iter().chain(settings);
            let given: BTreeMap<String, String> =
                all.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            let condition = Settings::read(&KIND, &given).unwrap_or_else(|error| panic!("{}", error.detail));
            let holder = EvmAddress([0xaa; 20]);
            let about = About { address: holder, items: &[], chain_id: 10, at: UnixMillis(0) };
            let mut data = [0; 64];
            (data[31], data[63]) = (7, 7);
            match condition.step(&about, &[CallResult::Data(data.to_vec().into())]) {
                Ok(Step::Holds(Holding { nullifiers, .. })) => nullifiers[0].to_string(),
                other => panic!("{other:?}"),
            }
        };
        let start = "eip155:10/call:0x1111111111111111111111111111111111111111";
        assert_eq!(given(&[("function", "f(address)")]), format!("{start}/f(address)/7"));
        let two = ("function", "f(uint8,address)");
        let first = given(&[two, ("arguments", "1, {holder}")]);
        assert_eq!(first, format!("{start}/f(uint8,address);1,{{holder}}/7"));
        let place = given(&[two, ("arguments", "1,{holder}"), ("result", "1")]);
        assert_eq!(place, format!("{start}/f(uint8,address);1,{{holder}};1/7"));
    }
}
