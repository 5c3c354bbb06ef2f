//! Decisions of audit records (`docs/reference/audit-events.md`).

/// Decision about the request of an audit record. Its word is covered by the audit chain, so it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditDecision {
    /// The policy let it pass.
    Auto,
    /// A grant let it pass.
    Grant,
    /// An approved task let it pass.
    Task,
    /// It waits for a person.
    Pending,
    /// A person approved it, and it is about to be sent.
    Approved,
    /// The policy denied it.
    Denied,
    /// A check outside the policy refused it.
    Refused,
}

impl AuditDecision {
    /// Every decision.
    pub const ALL: &'static [Self] =
        &[Self::Auto, Self::Grant, Self::Task, Self::Pending, Self::Approved, Self::Denied, Self::Refused];

    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Grant => "grant",
            Self::Task => "task",
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Refused => "refused",
        }
    }

    /// The decision with exactly this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|decision| decision.as_str() == name)
    }

    /// True if the request was sent without asking a person about it.
    pub const fn passes(self) -> bool {
        match self {
            Self::Auto | Self::Grant | Self::Task => true,
            Self::Pending | Self::Approved | Self::Denied | Self::Refused => false,
        }
    }
}

impl std::fmt::Display for AuditDecision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_stored_records_stay_as_they_are() {
        let words: Vec<_> = AuditDecision::ALL.iter().map(|decision| decision.as_str()).collect();
        assert_eq!(words, ["auto", "grant", "task", "pending", "approved", "denied", "refused"]);
        for decision in AuditDecision::ALL {
            assert_eq!(AuditDecision::from_name(decision.as_str()), Some(*decision));
        }
        assert_eq!(AuditDecision::from_name("Auto"), None);
    }
}
