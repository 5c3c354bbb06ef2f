//! Decoders for single content codings.

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use zstd::stream::raw::{DParameter, Decoder as Unzstd, InBuffer, Operation, OutBuffer};

use crate::inflate::{Gunzip, Inflate, InvalidInput};

/// 8 MiB, the window that RFC 9659 allows for the zstd content coding.
const ZSTD_MAX_WINDOW_LOG: u32 = 23;

type Unbrotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A registered content coding that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// Looks up a coding by its case-insensitive name (RFC 9110, section 8.4.1).
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let names = [
            ("gzip", Self::Gzip),
            ("x-gzip", Self::Gzip),
            ("deflate", Self::Deflate),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ];
        names.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, coding)| coding)
    }
}

/// The decoder of one coding, with its state.
pub(crate) enum CodingDecoder {
    Gzip(Box<Gunzip>),
    Deflate(Inflate),
    Brotli { state: Box<Unbrotli>, ended: bool },
    Zstd { decoder: Unzstd<'static>, between_frames: bool },
}

impl CodingDecoder {
    pub(crate) fn new(coding: Coding) -> Self {
        match coding {
            Coding::Gzip => Self::Gzip(Box::new(Gunzip::new())),
            Coding::Deflate => Self::Deflate(Inflate::Unknown(None)),
            Coding::Brotli => {
                let alloc = StandardAlloc::default;
                // Strict mode: no large window, so at most 16 MiB.
                let state = Box::new(BrotliState::new_strict(alloc(), alloc(), alloc()));
                Self::Brotli { state, ended: false }
            }
            Coding::Zstd => {
                let mut decoder = Unzstd::new().expect("a decoder without a dictionary");
                decoder
                    .set_parameter(DParameter::WindowLogMax(ZSTD_MAX_WINDOW_LOG))
                    .expect("23 is within the bounds of the format");
                Self::Zstd { decoder, between_frames: true }
            }
        }
    }

    /// True if the input may end here.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Gzip(gunzip) => gunzip.is_complete(),
            Self::Deflate(inflate) => inflate.is_complete(),
            Self::Brotli { ended, .. } => *ended,
            Self::Zstd { between_frames, .. } => *between_frames,
        }
    }

    /// Decodes from the front of `input` into `output`, at most one buffer full. Returns the number of bytes written;
    /// zero means that more input is needed.
    pub(crate) fn run(&mut self, input: &mut &[u8], output: &mut [u8]) -> Result<usize, InvalidInput> {
        match self {
            Self::Gzip(gunzip) => gunzip.run(input, output),
            Self::Deflate(inflate) => inflate.run(input, output),
            Self::Brotli { ended: true, .. } if input.is_empty() => Ok(0),
            Self::Brotli { ended: true, .. } => Err(InvalidInput),
            Self::Brotli { state, ended } => unbrotli(state, ended, input, output),
            Self::Zstd { decoder, between_frames } => unzstd(decoder, between_frames, input, output),
        }
    }
}

fn unbrotli(
    state: &mut Unbrotli,
    ended: &mut bool,
    input: &mut &[u8],
    output: &mut [u8],
) -> Result<usize, InvalidInput> {
    let (mut left, mut read) = (input.len(), 0);
    let (mut room, mut written, mut total) = (output.len(), 0, 0);
    let result = BrotliDecompressStream(
        &mut left,
        &mut read,
        input,
        &mut room,
        &mut written,
        output,
        &mut total,
        state,
    );
    *input = &input[read..];
    match result {
        BrotliResult::ResultFailure => return Err(InvalidInput),
        BrotliResult::ResultSuccess => *ended = true,
        BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
    }
    Ok(written)
}

fn unzstd(
    decoder: &mut Unzstd<'_>,
    between_frames: &mut bool,
    input: &mut &[u8],
    output: &mut [u8],
) -> Result<usize, InvalidInput> {
    // A frame may end without output, followed by another one.
    while !input.is_empty() || !*between_frames {
        let mut source = InBuffer::around(input);
        let mut sink = OutBuffer::around(output);
        let hint = decoder.run(&mut source, &mut sink).map_err(|_| InvalidInput)?;
        let (read, written) = (source.pos(), sink.pos());
        *input = &input[read..];
        if read + written > 0 {
            *between_frames = hint == 0;
        }
        if written > 0 || input.is_empty() {
            return Ok(written);
        }
    }
    Ok(0)
}
