//! The ABI subset that Pyxis needs: static arguments, and strictly parsed return values.

use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::abi_words::{address, number};

use crate::{AbiWord, keccak};

/// First four bytes of a call's data.
pub type Selector = [u8; 4];

/// First four bytes of the Keccak-256 hash of a signature.
pub fn selector(signature: &str) -> Selector {
    let [a, b, c, d, ..] = keccak(signature.as_bytes());
    [a, b, c, d]
}

/// Call data: a selector followed by words.
pub fn call(selector: Selector, arguments: &[AbiWord]) -> Vec<u8> {
    [&selector[..], arguments.as_flattened()].concat()
}

/// Selector of `Error(string)`.
const ERROR: Selector = [0x08, 0xc3, 0x79, 0xa0];

/// Reader for the words of a return value.
#[derive(Clone, Copy, Debug)]
pub struct AbiReader<'d>(&'d [u8]);

impl<'d> AbiReader<'d> {
    /// Reads from returned data.
    pub const fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub fn word_at(self, index: usize) -> Option<AbiWord> {
        self.0.get(index.checked_mul(32)?..)?.first_chunk().copied()
    }

    /// A number that fits 64 bits.
    pub fn number(self, index: usize) -> Option<u64> {
        let word = self.word_at(index)?;
        let (high, low) = word.split_at(24);
        high.iter().all(|byte| *byte == 0).then_some(())?;
        low.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// A boolean: 0 or 1 and nothing else.
    pub fn boolean(self, index: usize) -> Option<bool> {
        match self.number(index)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Reader that starts at the offset stored at `index`.
    pub fn tail(self, index: usize) -> Option<Self> {
        self.0.get(usize::try_from(self.number(index)?).ok()?..).map(Self)
    }

    /// Length and items of the array that starts here.
    pub fn array(self) -> Option<(usize, Self)> {
        let length = usize::try_from(self.number(0)?).ok()?;
        let items = self.0.get(32..)?;
        // Every item takes at least one word, so a length beyond the data is invalid.
        (length <= items.len() / 32).then_some((length, Self(items)))
    }

    /// The length-prefixed bytes that start here.
    pub fn bytes(self) -> Option<&'d [u8]> {
        let length = usize::try_from(self.number(0)?).ok()?;
        self.0.get(32..)?.get(..length)
    }
}

/// The text of `Error(string)`; `None` for other data.
pub fn revert_reason(data: &[u8]) -> Option<String> {
    let words = AbiReader::new(data.strip_prefix(&ERROR)?);
    words.tail(0)?.bytes().and_then(|text| String::from_utf8(text.to_vec()).ok())
}

/// Call data for Multicall3's `aggregate3((address,bool,bytes)[])`, with each call allowed to fail.
pub(crate) fn aggregate3(calls: &[(EvmAddress, &[u8])]) -> Vec<u8> {
    let long: usize = calls.iter().map(|(_, call)| 5 * 32 + call.len().next_multiple_of(32)).sum();
    let mut data = Vec::with_capacity(4 + 2 * 32 + long);
    data.extend_from_slice(&selector("aggregate3((address,bool,bytes)[])"));
    let mut push = |number: usize| data.extend_from_slice(&encode_usize(number));
    push(32);
    push(calls.len());
    let mut offset = 32 * calls.len();
    for (_, call) in calls {
        push(offset);
        offset += 4 * 32 + call.len().next_multiple_of(32);
    }
    for (to, call) in calls {
        data.extend_from_slice(&address(*to));
        data.extend_from_slice(&encode_usize(1));
        data.extend_from_slice(&encode_usize(96));
        data.extend_from_slice(&encode_usize(call.len()));
        data.extend_from_slice(call);
        data.resize(data.len() + call.len().next_multiple_of(32) - call.len(), 0);
    }
    data
}

/// Decodes the `(bool success, bytes returnData)[]` of `aggregate3`.
pub(crate) fn aggregated(data: &[u8], count: usize) -> Option<Vec<(bool, &[u8])>> {
    let (length, items) = AbiReader::new(data).tail(0)?.array()?;
    let item = |index| {
        let item = items.tail(index)?;
        Some((item.boolean(0)?, item.tail(1)?.bytes()?))
    };
    (length == count).then(|| (0..length).map(item).collect())?
}

fn encode_usize(value: usize) -> AbiWord {
    number(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_its_selector_and_its_words() {
        let data = call(selector("transfer(address,uint256)"), &[[0; 32], encode_usize(1)]);
        assert_eq!(data[..4], [0xa9, 0x05, 0x9c, 0xbb]);
        assert_eq!(data.len(), 68);
    }

    #[test]
    fn the_reason_of_a_revert_is_read() {
        let text = b"SBT has been revoked";
        let mut data = ERROR.to_vec();
        data.extend_from_slice(&encode_usize(32));
        data.extend_from_slice(&encode_usize(text.len()));
        data.extend_from_slice(text);
        data.resize(4 + 96, 0);
        assert_eq!(revert_reason(&data).as_deref(), Some("SBT has been revoked"));
        for cut in [0, 3, 4, 36, 68, 80] {
            assert_eq!(revert_reason(&data[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn what_claims_more_than_it_has_is_not_read() {
        let words = |numbers: &[u64]| numbers.iter().flat_map(|n| number(*n)).collect::<Vec<u8>>();
        assert!(AbiReader::new(&words(&[u64::MAX])).tail(0).is_none());
        assert!(AbiReader::new(&words(&[u64::MAX])).array().is_none());
        assert!(AbiReader::new(&words(&[33])).bytes().is_none());
        assert_eq!(AbiReader::new(&words(&[2])).boolean(0), None);
        assert_eq!(AbiReader::new(&[0xff; 32]).number(0), None);
        assert_eq!(AbiReader::new(&words(&[7])).word_at(1), None);
    }

    #[test]
    fn aggregated_calls_read_back() {
        let to = EvmAddress([0xcc; 20]);
        let data = aggregate3(&[(to, &[1, 2, 3]), (to, &[])]);
        assert_eq!(data[..4], [0x82, 0xad, 0x56, 0xcb]);
        // (true, 0x01) and (false, ""), as a contract returns them.
        let returned: Vec<u8> = [
            encode_usize(32),
            encode_usize(2),
            encode_usize(64),
            encode_usize(192),
            encode_usize(1),
            encode_usize(64),
            encode_usize(1),
            {
                let mut word = [0; 32];
                word[0] = 1;
                word
            },
            encode_usize(0),
            encode_usize(64),
            encode_usize(0),
        ]
        .concat();
        assert_eq!(aggregated(&returned, 2), Some(vec![(true, &[1][..]), (false, &[])]));
        assert_eq!(aggregated(&returned, 3), None);
        assert_eq!(aggregated(&returned[..200], 2), None);
        assert_eq!(aggregated(&[], 2), None);
    }
}
