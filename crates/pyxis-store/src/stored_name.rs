//! Names of closed sets in columns whose rows stay readable when a newer version adds a name.

use std::borrow::Cow;
use std::fmt;

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::policy::{Method, Rule};

use crate::db::{Bind, Cell, Column, Value};

/// A type of which every value is known, with its stored name.
pub trait ClosedSet: Copy + Eq + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// The stored name.
    fn name(self) -> &'static str;
}

/// A value by its stored name, or a name that only a newer version knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoredName<T> {
    Known(T),
    Unknown(String),
}

impl<T: ClosedSet> StoredName<T> {
    /// The value with exactly this name, or the name itself.
    pub fn from_name(name: String) -> Self {
        let known = T::ALL.iter().copied().find(|value| value.name() == name);
        known.map_or(Self::Unknown(name), Self::Known)
    }

    /// The value, unless a newer version wrote it.
    pub const fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Unknown(_) => None,
        }
    }

    /// The name, known or not.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(value) => value.name(),
            Self::Unknown(name) => name,
        }
    }

    /// True if it is this value.
    pub fn is(&self, value: T) -> bool {
        matches!(self, Self::Known(known) if *known == value)
    }
}

impl<T> From<T> for StoredName<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: ClosedSet> fmt::Display for StoredName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<T: ClosedSet> Bind for StoredName<T> {
    const NULL: Value = <String as Bind>::NULL;

    fn bind(self) -> Value {
        match self {
            Self::Known(value) => Cow::Borrowed(value.name()).bind(),
            Self::Unknown(name) => name.bind(),
        }
    }
}

impl<T: ClosedSet> Column for StoredName<T> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        String::read(cell).map(Self::from_name)
    }
}

impl ClosedSet for Rule {
    const ALL: &'static [Self] = Self::ALL;

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl ClosedSet for Method {
    const ALL: &'static [Self] = Self::ALL;

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl ClosedSet for AuditDecision {
    const ALL: &'static [Self] = Self::ALL;

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl ClosedSet for DecisionSurface {
    const ALL: &'static [Self] = Self::ALL;

    fn name(self) -> &'static str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_newer_version_is_kept_as_it_is() {
        let read = |text| StoredName::<Rule>::read(Cell::Text(text)).unwrap();
        assert!(read("require_url").is(Rule::RequireUrl));
        assert_eq!(read("by_moon_phase").as_str(), "by_moon_phase");
        assert!(StoredName::<Rule>::read(Cell::Int(1)).is_none());
    }

    #[test]
    fn a_method_is_known_by_its_exact_name_only() {
        let read = |text: &str| StoredName::<Method>::from_name(text.to_owned());
        for method in Method::ALL {
            assert!(read(method.as_str()).is(*method));
        }
        assert_eq!((read("get").known(), read("get").as_str()), (None, "get"));
    }
}
