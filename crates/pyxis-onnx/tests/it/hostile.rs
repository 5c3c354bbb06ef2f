//! Damaged files end in a refusal or in a model that answers, never in a panic. A fuzzer searches further
//! (fuzz/bodies); here its body runs over fixed changes of valid files.

use serde_json::Value;

use crate::EXPORTED;

#[path = "../../fuzz/bodies/onnx_file.rs"]
mod onnx_file;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }
}

/// Files of single operators, and of exporters.
fn files() -> Vec<(Vec<u8>, usize)> {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../data/operators.json")).expect("a list of cases");
    let hex = |text: &str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("hex"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
    };
    let operators = cases.iter().map(|case| (hex(case["onnx"].as_str().expect("a file")), 6));
    EXPORTED.iter().map(|(_, bytes)| (bytes.to_vec(), 4)).chain(operators).collect()
}

/// Changes a file in one of the ways in which files break, or are broken.
fn change(file: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let at = numbers.below(file.len());
    let length = numbers.below(24).min(file.len() - at);
    match numbers.below(7) {
        0 => file[at] = [0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe][numbers.below(6)],
        1 => file[at] ^= 1 << numbers.below(8),
        2 => file[at] = file[at].wrapping_add(1),
        3 => file.truncate(at + 1),
        4 => {
            file.drain(at..at + length);
        }
        5 => {
            let copy = file[at..at + length].to_vec();
            let to = numbers.below(file.len());
            file.splice(to..to, copy);
        }
        _ => {
            let from = numbers.below(other.len());
            let piece = other[from..].iter().copied().take(length);
            file.splice(at..at + length, piece.collect::<Vec<u8>>());
        }
    }
}

#[test]
fn files_that_were_changed_are_survived() {
    let files = files();
    let mut numbers = Numbers(11);
    for (file, features) in &files {
        for round in 0..40 {
            let mut changed = file.clone();
            let (other, _) = &files[numbers.below(files.len())];
            for _ in 0..=round % 4 {
                if !changed.is_empty() {
                    change(&mut changed, other, &mut numbers);
                }
            }
            onnx_file::run(&changed, *features);
        }
    }
}

#[test]
fn files_that_were_cut_off_are_survived() {
    for (_, bytes) in EXPORTED {
        for length in (0..bytes.len()).step_by(bytes.len() / 24) {
            onnx_file::run(&bytes[..length], 4);
        }
    }
}
