//! gzip, zlib and raw deflate.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::gzip::{BadHeader, Header};

/// The input does not match its coding.
#[derive(Debug)]
pub(crate) struct InvalidInput;

impl From<BadHeader> for InvalidInput {
    fn from(_: BadHeader) -> Self {
        Self
    }
}

/// Position in a gzip stream.
enum Part {
    Header,
    Body,
    /// CRC-32 and length, least significant byte first.
    Trailer {
        seen: usize,
        bytes: [u8; 8],
    },
}

/// One or more gzip members (RFC 1952).
pub(crate) struct Gunzip {
    part: Part,
    header: Header,
    body: Decompress,
    crc: Crc,
}

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self { part: Part::Header, header: Header::new(), body: Decompress::new(false), crc: Crc::new() }
    }

    /// True if the input may end here.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.part, Part::Header) && self.header.is_untouched()
    }

    /// Returns the number of bytes written. Zero means that more input is needed.
    pub(crate) fn run(&mut self, input: &mut &[u8], output: &mut [u8]) -> Result<usize, InvalidInput> {
        loop {
            match &mut self.part {
                Part::Header if self.header.read(input)? => self.part = Part::Body,
                Part::Header => return Ok(0),
                Part::Body => {
                    let (written, ended) = inflate(&mut self.body, input, output)?;
                    self.crc.update(&output[..written]);
                    if ended {
                        self.part = Part::Trailer { seen: 0, bytes: [0; 8] };
                    }
                    if written > 0 || !ended {
                        return Ok(written);
                    }
                }
                Part::Trailer { seen, bytes } => {
                    let Some((&byte, rest)) = input.split_first() else { return Ok(0) };
                    *input = rest;
                    bytes[*seen] = byte;
                    *seen += 1;
                    if *seen == bytes.len() {
                        let trailer = u64::from_le_bytes(*bytes);
                        self.next_member(trailer)?;
                    }
                }
            }
        }
    }

    fn next_member(&mut self, trailer: u64) -> Result<(), InvalidInput> {
        if trailer != u64::from(self.crc.sum()) | u64::from(self.crc.amount()) << 32 {
            return Err(InvalidInput);
        }
        self.part = Part::Header;
        self.header = Header::new();
        self.body.reset(false);
        self.crc.reset();
        Ok(())
    }
}

/// The `deflate` coding: zlib (RFC 1950) as registered, or raw deflate (RFC 1951) as some servers send it.
pub(crate) enum Inflate {
    /// Format not known yet. Holds the first of the two deciding bytes, once read.
    Unknown(Option<u8>),
    Known(Decompress),
    Ended,
}

impl Inflate {
    /// True if the input may end here.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Ended)
    }

    /// Returns the number of bytes written. Zero means that more input is needed.
    pub(crate) fn run(&mut self, input: &mut &[u8], output: &mut [u8]) -> Result<usize, InvalidInput> {
        loop {
            match self {
                Self::Unknown(None) => {
                    let Some((&first, rest)) = input.split_first() else { return Ok(0) };
                    *input = rest;
                    *self = Self::Unknown(Some(first));
                }
                Self::Unknown(Some(first)) => {
                    let Some(&second) = input.first() else { return Ok(0) };
                    let mut body = Decompress::new(is_zlib(*first, second));
                    inflate(&mut body, &mut [*first].as_slice(), output)?;
                    *self = Self::Known(body);
                }
                Self::Known(body) => {
                    let (written, ended) = inflate(body, input, output)?;
                    if ended {
                        *self = Self::Ended;
                    }
                    return Ok(written);
                }
                Self::Ended if input.is_empty() => return Ok(0),
                Self::Ended => return Err(InvalidInput),
            }
        }
    }
}

/// True for a zlib header. A raw stream with these bytes would start with an unfinished stored block with nonzero
/// padding, which no encoder writes.
fn is_zlib(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Returns the number of bytes written, and true if the stream ended.
fn inflate(
    body: &mut Decompress,
    input: &mut &[u8],
    output: &mut [u8],
) -> Result<(usize, bool), InvalidInput> {
    let (before_in, before_out) = (body.total_in(), body.total_out());
    let status = body.decompress(input, output, FlushDecompress::None).map_err(|_| InvalidInput)?;
    let read = usize::try_from(body.total_in() - before_in).expect("no more than the input");
    let written = usize::try_from(body.total_out() - before_out).expect("no more than the output");
    *input = &input[read..];
    Ok((written, status == Status::StreamEnd))
}
