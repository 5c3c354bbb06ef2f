//! Parsing of whole lists: every invalid entry is reported with its position and value.

use std::fmt;

use serde::Serialize;

/// Invalid entries that are reported; the others are only counted.
pub const NAMED: usize = 20;
/// Longest value that is shown in full, in characters.
const SHOWN: usize = 100;

/// An invalid entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadEntry {
    /// Position in the list, from 0.
    pub index: usize,
    /// Its value, shortened.
    pub value: String,
    /// Fault of the entry.
    pub reason: String,
}

/// The invalid entries of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadEntries {
    /// The first [`NAMED`] of them.
    pub named: Vec<BadEntry>,
    /// Number of all invalid entries.
    pub count: usize,
}

impl BadEntries {
    /// Adds an entry.
    pub fn add(&mut self, index: usize, value: &str, reason: impl fmt::Display) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(BadEntry { index, value: shortened(value), reason: reason.to_string() });
        }
    }

    /// The values, if no entry was bad.
    pub fn or<T>(self, values: T) -> Result<T, Self> {
        if self.count == 0 { Ok(values) } else { Err(self) }
    }
}

impl fmt::Display for BadEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, BadEntry { index, value, reason }) in self.named.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}[{index}] {value:?}: {reason}")?;
        }
        match self.count - self.named.len() {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

/// Parses every entry of a list.
pub fn read<'a, T, E: fmt::Display>(
    texts: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, BadEntries> {
    let (mut values, mut bad) = (Vec::new(), BadEntries::default());
    for (index, text) in texts.into_iter().enumerate() {
        match read(text) {
            Ok(value) => values.push(value),
            Err(reason) => bad.add(index, text, reason),
        }
    }
    bad.or(values)
}

/// Parses each entry of a list. Invalid ones do not affect the others.
pub fn read_each<'a, T, E: fmt::Display>(
    texts: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&str) -> Result<T, E>,
) -> Vec<Result<T, BadEntry>> {
    let entry = |(index, text): (usize, &str)| {
        read(text).map_err(|reason| BadEntry { index, value: shortened(text), reason: reason.to_string() })
    };
    texts.into_iter().enumerate().map(entry).collect()
}

/// The beginning of a text that may be long.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(texts: &[&str]) -> Result<Vec<u8>, BadEntries> {
        read(texts.iter().copied(), str::parse::<u8>)
    }

    #[test]
    fn every_bad_entry_is_named_with_its_place_and_value() {
        assert_eq!(numbers(&["1", "2"]), Ok(vec![1, 2]));
        assert_eq!(numbers(&[]), Ok(Vec::new()));
        let bad = numbers(&["1", "x", "2", ""]).unwrap_err();
        assert_eq!(bad.count, 2);
        assert_eq!(
            bad.named.iter().map(|entry| (entry.index, &*entry.value)).collect::<Vec<_>>(),
            [(1, "x"), (3, "")]
        );
        assert!(bad.to_string().starts_with("[1] \"x\": "), "{bad}");
    }

    #[test]
    fn each_entry_is_read_on_its_own() {
        let each = read_each(["1", "x", "2"], str::parse::<u8>);
        assert_eq!((&each[0], &each[2]), (&Ok(1), &Ok(2)));
        let bad = each[1].as_ref().unwrap_err();
        assert_eq!((bad.index, &*bad.value), (1, "x"));
        assert!(!bad.reason.is_empty());
    }

    #[test]
    fn many_bad_entries_are_counted_and_long_ones_cut() {
        let long = "é".repeat(5000);
        let bad = numbers(&vec![long.as_str(); 1000]).unwrap_err();
        assert_eq!((bad.count, bad.named.len()), (1000, NAMED));
        assert!(bad.to_string().ends_with(", and 980 more"));
        assert!(bad.named.iter().all(|entry| entry.value == format!("{}…", "é".repeat(SHOWN))));
    }
}
