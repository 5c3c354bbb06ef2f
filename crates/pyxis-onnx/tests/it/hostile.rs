//! Damaged files end in a refusal or in a model that answers; never in a panic.

use pyxis_onnx::Program;

use crate::{EXPORTED, spec_for};

/// Loads, and asks if it can be asked.
fn survive(bytes: &[u8], name: &str) {
    if let Ok(program) = Program::load(bytes, &spec_for(name))
        && let Ok(answer) = program.probability(&[0.5, 2.0, f32::NAN, -3.0])
    {
        assert!((0.0..=1.0).contains(&answer), "{name}: {answer}");
    }
}

#[test]
fn files_that_were_cut_off_or_changed_are_survived() {
    for (name, bytes) in EXPORTED {
        for length in (0..bytes.len()).step_by(bytes.len() / 24) {
            survive(&bytes[..length], name);
        }
        for (round, place) in (0..bytes.len()).step_by(bytes.len() / 90).enumerate() {
            let mut changed = bytes.to_vec();
            changed[place] = [0x00, 0xff, 0x7f, 0x80, changed[place] ^ 0x01][round % 5];
            survive(&changed, name);
        }
    }
}
