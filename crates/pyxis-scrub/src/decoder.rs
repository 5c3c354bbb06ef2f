//! Streaming decoder for the content codings of a body (RFC 9110, section 8.4).

use bytes::{Buf, Bytes};

use crate::stage::{Coding, CodingDecoder};

/// Maximum size of an output piece, in bytes.
const MAX_PIECE: usize = 64 * 1024;
/// Maximum number of codings. More are not used in practice, and each layer costs memory.
const MAX_CODINGS: usize = 4;

/// A content coding that cannot be decoded, and therefore not scrubbed, or more than four codings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("content coding cannot be decoded: ask upstream for identity, gzip, deflate, br or zstd")]
pub struct UnknownCoding;

/// A body that does not match its `Content-Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are invalid in this coding, fail its checksum, need too large a window, or continue after its end.
    #[error("corrupt content coding: {coding}")]
    Corrupt {
        /// The coding's registered name.
        coding: &'static str,
    },
    /// The body ended too early.
    #[error("truncated content coding: {coding}")]
    Truncated {
        /// The coding's registered name.
        coding: &'static str,
    },
}

/// Decodes the content codings of one body.
///
/// The caller drives it: [`push`](Self::push) a chunk, [`pull`](Self::pull) until it returns `None`, repeat, then
/// [`finish`](Self::finish). Everything that a chunk makes decodable is returned before the next chunk, so event
/// streams are not delayed. Memory is bounded whatever the body expands to: at most 64 KiB per step and coding,
/// plus windows. Each coding has one (gzip and deflate 32 KiB, zstd 8 MiB, br 16 MiB).
pub struct Decoder {
    /// In decoding order, the reverse of the header.
    layers: Vec<Layer>,
    source: Bytes,
    scratch: Vec<u8>,
}

impl Decoder {
    /// Parses the value of `Content-Encoding`: several header lines joined by commas, or empty if absent.
    pub fn for_content_encoding(value: &str) -> Result<Self, UnknownCoding> {
        let mut layers = Vec::new();
        for name in value.rsplit(',').map(str::trim) {
            if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                continue;
            }
            if layers.len() == MAX_CODINGS {
                return Err(UnknownCoding);
            }
            layers.push(Layer::new(Coding::from_name(name).ok_or(UnknownCoding)?));
        }
        let scratch = if layers.is_empty() { Vec::new() } else { vec![0; MAX_PIECE] };
        Ok(Self { layers, source: Bytes::new(), scratch })
    }

    /// True if the body passes unchanged, so that its `Content-Length` remains correct.
    pub fn is_identity(&self) -> bool {
        self.layers.is_empty()
    }

    /// Adds the next chunk of the body.
    ///
    /// # Panics
    /// If the previous chunk was not drained with [`pull`](Self::pull).
    pub fn push(&mut self, chunk: Bytes) {
        assert!(self.source.is_empty(), "pull until None before the next push");
        self.source = chunk;
    }

    /// Returns the next piece of decoded data, 1 byte to 64 KiB. `None` asks for the next chunk.
    pub fn pull(&mut self) -> Result<Option<Bytes>, DecodeError> {
        pull(&mut self.layers, &mut self.source, &mut self.scratch)
    }

    /// Ends the body. A body without a single byte is complete in every coding, as in responses to HEAD.
    pub fn finish(&self) -> Result<(), DecodeError> {
        let unfinished = self.layers.iter().find(|layer| layer.started && !layer.stage.is_complete());
        unfinished.map_or(Ok(()), |layer| Err(DecodeError::Truncated { coding: layer.coding.name() }))
    }
}

/// One coding and its pending input.
struct Layer {
    coding: Coding,
    stage: CodingDecoder,
    input: Bytes,
    started: bool,
    /// True if the stage has reported that it needs more input.
    drained: bool,
}

impl Layer {
    fn new(coding: Coding) -> Self {
        Self { coding, stage: CodingDecoder::new(coding), input: Bytes::new(), started: false, drained: true }
    }

    fn feed(&mut self, input: Bytes) {
        self.input = input;
        self.started = true;
        self.drained = false;
    }

    fn run(&mut self, scratch: &mut [u8]) -> Result<Option<Bytes>, DecodeError> {
        if self.drained {
            return Ok(None);
        }
        let mut rest = self.input.as_ref();
        let corrupt = DecodeError::Corrupt { coding: self.coding.name() };
        let written = self.stage.run(&mut rest, scratch).map_err(|_| corrupt)?;
        if written == 0 && !rest.is_empty() {
            // The coding ended before the input did.
            return Err(corrupt);
        }
        let read = self.input.len() - rest.len();
        self.input.advance(read);
        self.drained = written == 0;
        Ok((written > 0).then(|| Bytes::copy_from_slice(&scratch[..written])))
    }
}

/// Pulls through `layers`; the last layer decodes last.
fn pull(layers: &mut [Layer], source: &mut Bytes, scratch: &mut [u8]) -> Result<Option<Bytes>, DecodeError> {
    let Some((layer, before)) = layers.split_last_mut() else {
        let piece = source.split_to(source.len().min(MAX_PIECE));
        return Ok(Some(piece).filter(|piece| !piece.is_empty()));
    };
    loop {
        if let Some(piece) = layer.run(scratch)? {
            return Ok(Some(piece));
        }
        match pull(before, source, scratch)? {
            Some(input) => layer.feed(input),
            None => return Ok(None),
        }
    }
}
