//! The approval state machine (`docs/reference/behavior/proxy.md#approval-states`).

use crate::approval_mode::ApprovalState;

/// An event of an approval transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalEvent {
    /// The last vote that `min_approvals` requires was cast: by eligible people, with the passkey ceremony if the
    /// policy requires one.
    QuorumReached,
    /// An eligible person denied; one denial is enough.
    Denied,
    /// The approval window ended without a decision.
    WindowEnded,
    /// The agent withdrew the request.
    Withdrawn,
}

impl ApprovalEvent {
    /// Every event.
    pub const ALL: &'static [Self] = &[Self::QuorumReached, Self::Denied, Self::WindowEnded, Self::Withdrawn];
}

/// The transaction is already decided or expired, which is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request is already {state}; {event:?} changes nothing")]
pub struct Illegal {
    /// The final state.
    pub state: ApprovalState,
    /// The rejected event.
    pub event: ApprovalEvent,
}

/// The state after `event`.
///
/// Only a pending transaction changes; the store repeats that condition in its compare-and-set.
pub const fn next(state: ApprovalState, event: ApprovalEvent) -> Result<ApprovalState, Illegal> {
    match (state, event) {
        (ApprovalState::Pending, ApprovalEvent::QuorumReached) => Ok(ApprovalState::Approved),
        (ApprovalState::Pending, ApprovalEvent::Denied) => Ok(ApprovalState::Denied),
        (ApprovalState::Pending, ApprovalEvent::WindowEnded | ApprovalEvent::Withdrawn) => {
            Ok(ApprovalState::Expired)
        }
        (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Expired, _) => {
            Err(Illegal { state, event })
        }
    }
}

#[cfg(test)]
mod tests {
    //! Approval states: `docs/reference/behavior/proxy.md#approval-states`.

    use super::*;

    #[test]
    fn a_pending_request_goes_where_the_table_says() {
        let after = |event| next(ApprovalState::Pending, event);
        assert_eq!(after(ApprovalEvent::QuorumReached), Ok(ApprovalState::Approved));
        assert_eq!(after(ApprovalEvent::Denied), Ok(ApprovalState::Denied));
        assert_eq!(after(ApprovalEvent::WindowEnded), Ok(ApprovalState::Expired));
        assert_eq!(after(ApprovalEvent::Withdrawn), Ok(ApprovalState::Expired));
    }

    #[test]
    fn a_decided_or_expired_request_never_changes() {
        for state in ApprovalState::ALL.iter().copied().filter(|state| *state != ApprovalState::Pending) {
            for event in ApprovalEvent::ALL.iter().copied() {
                assert_eq!(next(state, event), Err(Illegal { state, event }));
            }
        }
    }

    #[test]
    fn an_illegal_event_is_explained() {
        let error = next(ApprovalState::Denied, ApprovalEvent::QuorumReached).unwrap_err();
        assert_eq!(error.to_string(), "the request is already denied; QuorumReached changes nothing");
    }
}
