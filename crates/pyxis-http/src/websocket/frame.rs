//! The header of a frame (RFC 6455, section 5.2), in one reading.

/// Short length that says that the length follows in two bytes.
const IN_TWO_BYTES: u8 = 126;
/// Short length that says that the length follows in eight bytes.
const IN_EIGHT_BYTES: u8 = 127;

/// Longest payload of a control frame, in bytes.
pub(super) const MAX_CONTROL: usize = 125;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A further fragment of a message.
    Continuation,
    /// A message in UTF-8, or its first fragment.
    Text,
    /// A message of bytes, or its first fragment.
    Binary,
    /// The last frame of its side.
    Close,
    /// A question whether the other side is there.
    Ping,
    /// The answer to a ping.
    Pong,
}

impl Opcode {
    /// True for frames about the connection, which may stand between the fragments of a message.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }

    const fn number(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }
}

/// Status codes that Pyxis closes with (RFC 6455, section 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// The server stops, or a limit on time was reached.
    GoingAway,
    /// The other side broke the protocol.
    ProtocolError,
    /// The connection is no longer allowed.
    PolicyViolation,
    /// The server cannot go on.
    InternalError,
}

impl CloseCode {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Self::GoingAway => 1001,
            Self::ProtocolError => 1002,
            Self::PolicyViolation => 1008,
            Self::InternalError => 1011,
        }
    }
}

/// Breach of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A reserved bit is set, although no extension was agreed on.
    #[error("a reserved bit is set; no extension was negotiated")]
    Reserved,
    /// The kind of frame is unknown.
    #[error("unknown kind of frame")]
    Opcode,
    /// A client's frame has no mask, or a server's has one.
    #[error("a client must mask its frames, and a server must not")]
    Mask,
    /// The length could be written shorter, or is negative.
    #[error("the length of a frame is not written in its shortest form")]
    Length,
    /// A control frame is fragmented or too long.
    #[error("a control frame is fragmented or longer than 125 bytes")]
    Control,
    /// A continuation without a message, or a message within another.
    #[error("a fragment is out of order")]
    Fragment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// True for the last frame of a message.
    pub(super) is_last: bool,
    pub(super) opcode: Opcode,
    /// Length of the payload, in bytes.
    pub(super) length: u64,
    pub(super) mask: Option<[u8; 4]>,
}

impl FrameHeader {
    /// Reads the header at the beginning of `bytes`, with its own length. `None` if more bytes are needed.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, Violation> {
        let &[first, second, ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(Violation::Reserved);
        }
        let opcode = Opcode::from_number(first & 0x0F).ok_or(Violation::Opcode)?;
        let is_last = first & 0x80 != 0;
        let short = second & 0x7F;
        if opcode.is_control() && (!is_last || usize::from(short) > MAX_CONTROL) {
            return Err(Violation::Control);
        }
        let Some((length, after)) = read_length(short, &bytes[2..])? else { return Ok(None) };
        let mask_at = 2 + after;
        if second & 0x80 == 0 {
            return Ok(Some((Self { is_last, opcode, length, mask: None }, mask_at)));
        }
        let Some(mask) = bytes[mask_at..].first_chunk() else { return Ok(None) };
        Ok(Some((Self { is_last, opcode, length, mask: Some(*mask) }, mask_at + mask.len())))
    }

    /// Appends the header to `bytes`.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self.is_last) << 7 | self.opcode.number());
        let mask_bit = u8::from(self.mask.is_some()) << 7;
        match (u8::try_from(self.length), u16::try_from(self.length)) {
            (Ok(length), _) if usize::from(length) <= MAX_CONTROL => bytes.push(mask_bit | length),
            (_, Ok(length)) => {
                bytes.push(mask_bit | IN_TWO_BYTES);
                bytes.extend_from_slice(&length.to_be_bytes());
            }
            _ => {
                bytes.push(mask_bit | IN_EIGHT_BYTES);
                bytes.extend_from_slice(&self.length.to_be_bytes());
            }
        }
        bytes.extend(self.mask.into_iter().flatten());
    }
}

/// The length that begins with `short`, and the number of further bytes that it takes.
fn read_length(short: u8, rest: &[u8]) -> Result<Option<(u64, usize)>, Violation> {
    match short {
        IN_TWO_BYTES => {
            let Some(bytes) = rest.first_chunk::<2>() else { return Ok(None) };
            let length = u64::from(u16::from_be_bytes(*bytes));
            if length < 126 { Err(Violation::Length) } else { Ok(Some((length, 2))) }
        }
        IN_EIGHT_BYTES => {
            let Some(bytes) = rest.first_chunk::<8>() else { return Ok(None) };
            let length = u64::from_be_bytes(*bytes);
            let is_shortest = length > u64::from(u16::MAX) && length >> 63 == 0;
            if is_shortest { Ok(Some((length, 8))) } else { Err(Violation::Length) }
        }
        short => Ok(Some((u64::from(short), 0))),
    }
}

/// Masks or unmasks the part of a payload that begins at `offset`.
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4], offset: u64) {
    let start = usize::try_from(offset % 4).unwrap_or_default();
    for (byte, key) in payload.iter_mut().zip(mask.iter().cycle().skip(start)) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opcode() -> impl Strategy<Value = Opcode> {
        prop::sample::select(vec![
            Opcode::Continuation,
            Opcode::Text,
            Opcode::Binary,
            Opcode::Close,
            Opcode::Ping,
            Opcode::Pong,
        ])
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_it_was_written_and_not_before_it_is_whole(
            opcode in opcode(), is_last: bool, mask: Option<[u8; 4]>,
            length in prop_oneof![0_u64..200, 65_000_u64..66_000, 0_u64..=u64::MAX >> 1],
        ) {
            let length = if opcode.is_control() { length % 126 } else { length };
            let header = FrameHeader { is_last: is_last || opcode.is_control(), opcode, length, mask };
            let mut bytes = Vec::new();
            header.write(&mut bytes);
            for cut in 0..bytes.len() {
                prop_assert_eq!(FrameHeader::read(&bytes[..cut]), Ok(None));
            }
            let whole = bytes.len();
            bytes.extend_from_slice(b"payload");
            prop_assert_eq!(FrameHeader::read(&bytes), Ok(Some((header, whole))));
        }

        #[test]
        fn a_header_that_is_accepted_has_no_other_spelling(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
            if let Ok(Some((header, length))) = FrameHeader::read(&bytes) {
                let mut again = Vec::new();
                header.write(&mut again);
                prop_assert_eq!(&again[..], &bytes[..length]);
            }
        }

        #[test]
        fn a_mask_in_parts_is_the_mask_of_the_whole(
            payload in prop::collection::vec(any::<u8>(), 0..64), mask: [u8; 4], cut in 0_usize..64,
        ) {
            let (mut whole, mut parts) = (payload.clone(), payload);
            let cut = cut.min(parts.len());
            apply_mask(&mut whole, mask, 0);
            let (first, second) = parts.split_at_mut(cut);
            apply_mask(first, mask, 0);
            apply_mask(second, mask, cut as u64);
            prop_assert_eq!(whole, parts);
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        for (bytes, violation) in [
            (&[0xC1, 0x00][..], Violation::Reserved),
            (&[0x83, 0x00], Violation::Opcode),
            (&[0x8B, 0x00], Violation::Opcode),
            (&[0x09, 0x00], Violation::Control),
            (&[0x89, 126, 0, 126], Violation::Control),
            (&[0x82, 126, 0, 125], Violation::Length),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], Violation::Length),
            (&[0x82, 127, 0x80, 0, 0, 0, 0, 1, 0, 0], Violation::Length),
        ] {
            assert_eq!(FrameHeader::read(bytes), Err(violation), "{bytes:?}");
        }
    }
}
