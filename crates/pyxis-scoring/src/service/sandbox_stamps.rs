//! Names of the sandbox's Stamps, and the rule that keeps them apart: a scorer weighs these alone, or none of them.

use pyxis_core::score::Weights;

use super::{Error, Result};

/// Beginning of the names that only the sandbox weighs.
const PREFIX: &str = "Sandbox#";
pub(super) const HUMAN: &str = "Sandbox#Human";
pub(super) const ACCOUNT: &str = "Sandbox#Account";

/// Refuses sandbox Stamps in an ordinary scorer.
pub(super) fn check_ordinary(weights: &Weights) -> Result<()> {
    match weights.keys().find(|name| name.as_str().starts_with(PREFIX)) {
        None => Ok(()),
        Some(name) => Err(Error::field(
            "weights",
            format!("{name} counts in the sandbox scorer only; `pyxis scorer sandbox` makes it"),
        )),
    }
}

/// Refuses a change that would mix sandbox Stamps with others.
pub(super) fn check_change(before: &Weights, after: &Weights) -> Result<()> {
    if !is_sandbox(before) {
        return check_ordinary(after);
    }
    match after.keys().find(|name| !name.as_str().starts_with(PREFIX)) {
        None if after.is_empty() => {
            Err(Error::field("weights", "the sandbox scorer weighs at least one of its Stamps"))
        }
        None => Ok(()),
        Some(name) => Err(Error::field(
            "weights",
            format!("{name} does not count in the sandbox scorer; names there begin with {PREFIX}"),
        )),
    }
}

/// True for the weights of the sandbox.
pub(super) fn is_sandbox(weights: &Weights) -> bool {
    weights.keys().any(|name| name.as_str().starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use pyxis_core::decimal::Decimal;

    use super::*;

    fn weights(names: &[&str]) -> Weights {
        names.iter().map(|name| (name.parse().unwrap(), Decimal::from_units(1))).collect()
    }

    #[test]
    fn sandbox_stamps_and_others_never_meet_in_one_scorer() {
        let (sandbox, ordinary) = (weights(&[HUMAN, ACCOUNT]), weights(&["Google"]));
        let mixed = weights(&["Google", HUMAN]);
        assert!(check_ordinary(&ordinary).is_ok() && check_ordinary(&mixed).is_err());
        assert!(check_ordinary(&sandbox).is_err());
        assert!(check_change(&ordinary, &ordinary).is_ok() && check_change(&ordinary, &mixed).is_err());
        assert!(check_change(&ordinary, &sandbox).is_err());
        assert!(check_change(&sandbox, &sandbox).is_ok() && check_change(&sandbox, &mixed).is_err());
        assert!(check_change(&sandbox, &ordinary).is_err());
        assert!(check_change(&sandbox, &Weights::new()).is_err(), "it would become an ordinary one");
    }
}
