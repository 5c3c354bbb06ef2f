//! WebSocket (RFC 6455): the handshake, and frames as they stand on a connection.
//!
//! A proxy passes frames on one by one, with their fragments and control frames. Libraries offer whole messages and
//! answer control frames themselves.

mod frame;
mod handshake;
mod reader;
mod writer;

pub use frame::{CloseCode, Opcode, Violation};
pub use handshake::{Handshake, InvalidHandshake, accept, add_headers, check_answer, is_handshake, new_key};
pub use reader::{FramePiece, FrameReader, ReadError};
pub use writer::FrameWriter;
