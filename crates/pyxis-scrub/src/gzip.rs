//! The header of a gzip member (RFC 1952, section 2.3), read incrementally.

use flate2::Crc;

const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Position of the next byte in the header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Fixed(u8),
    ExtraLen { low: Option<u8> },
    Extra { left: u16 },
    Name,
    Comment,
    HeaderCrc { low: Option<u8> },
    Done,
}

/// The bytes are not a gzip header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadHeader;

/// Reads one member header byte by byte and stores none of its fields.
pub(crate) struct Header {
    field: Field,
    flags: u8,
    crc: Crc,
}

impl Header {
    pub(crate) fn new() -> Self {
        Self { field: Field::Fixed(0), flags: 0, crc: Crc::new() }
    }

    /// True if no byte was read yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.field == Field::Fixed(0)
    }

    /// Consumes header bytes from the front of `input`. `Ok(true)` once the header is complete.
    pub(crate) fn read(&mut self, input: &mut &[u8]) -> Result<bool, BadHeader> {
        while self.field != Field::Done {
            let Some((&byte, rest)) = input.split_first() else { return Ok(false) };
            *input = rest;
            self.field = self.after(byte)?;
        }
        Ok(true)
    }

    fn after(&mut self, byte: u8) -> Result<Field, BadHeader> {
        let field = match self.field {
            Field::Fixed(at) => self.after_fixed(at, byte)?,
            Field::ExtraLen { low: None } => Field::ExtraLen { low: Some(byte) },
            Field::ExtraLen { low: Some(low) } => match u16::from_le_bytes([low, byte]) {
                0 => self.next_of(NAME),
                left => Field::Extra { left },
            },
            Field::Extra { left: 1 } => self.next_of(NAME),
            Field::Extra { left } => Field::Extra { left: left - 1 },
            Field::Name if byte == 0 => self.next_of(COMMENT),
            Field::Comment if byte == 0 => self.next_of(HEADER_CRC),
            Field::HeaderCrc { low: None } => return Ok(Field::HeaderCrc { low: Some(byte) }),
            Field::HeaderCrc { low: Some(low) } => {
                let expected = self.crc.sum().to_le_bytes();
                return if expected[..2] == [low, byte] { Ok(Field::Done) } else { Err(BadHeader) };
            }
            same => same,
        };
        self.crc.update(&[byte]);
        Ok(field)
    }

    fn after_fixed(&mut self, at: u8, byte: u8) -> Result<Field, BadHeader> {
        let valid = match at {
            0 => byte == 0x1f,
            1 => byte == 0x8b,
            2 => byte == 8,
            3 => byte & RESERVED == 0,
            _ => true,
        };
        if at == 3 {
            self.flags = byte;
        }
        match (valid, at) {
            (false, _) => Err(BadHeader),
            (true, 9) => Ok(self.next_of(EXTRA)),
            (true, _) => Ok(Field::Fixed(at + 1)),
        }
    }

    /// The first field that is present, from `flag` on in the order of the format.
    fn next_of(&self, flag: u8) -> Field {
        let order = [
            (EXTRA, Field::ExtraLen { low: None }),
            (NAME, Field::Name),
            (COMMENT, Field::Comment),
            (HEADER_CRC, Field::HeaderCrc { low: None }),
        ];
        order
            .into_iter()
            .skip_while(|(candidate, _)| *candidate != flag)
            .find(|(candidate, _)| self.flags & candidate != 0)
            .map_or(Field::Done, |(_, field)| field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_header() -> Vec<u8> {
        let mut header = vec![0x1f, 0x8b, 8, HEADER_CRC | EXTRA | NAME | COMMENT, 0, 0, 0, 0, 0, 3];
        header.extend(b"\x03\x00abcname\0comment\0");
        let mut crc = Crc::new();
        crc.update(&header);
        header.extend(&crc.sum().to_le_bytes()[..2]);
        header
    }

    #[test]
    fn a_header_with_every_field_is_read_wherever_it_is_cut() {
        let header = full_header();
        for cut in 0..header.len() {
            let mut reader = Header::new();
            assert_eq!(reader.read(&mut &header[..cut]), Ok(false));
            let mut rest = [&header[cut..], b"body"].concat();
            let mut rest = rest.as_mut_slice() as &[u8];
            assert_eq!(reader.read(&mut rest), Ok(true));
            assert_eq!(rest, b"body");
        }
    }

    #[test]
    fn a_broken_header_is_refused() {
        for (at, value) in [(0, 0), (1, 0), (2, 7), (3, 0xff), (8, 1)] {
            let mut header = full_header();
            header[at] = value;
            assert_eq!(Header::new().read(&mut header.as_slice()), Err(BadHeader), "byte {at}");
        }
    }
}
