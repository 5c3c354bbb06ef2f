//! Event of a stored record.

use std::borrow::Cow;

use pyxis_core::audit_event::AuditEvent;

/// Event of a record, as the chain covers it. Programs write [`AuditEvent`]s only; records of a newer version may hold
/// an event that this one does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedEvent(Cow<'static, str>);

impl RecordedEvent {
    /// Wraps the text of a stored record.
    pub(crate) const fn read(stored: Cow<'static, str>) -> Self {
        Self(stored)
    }

    /// The text in the store.
    pub(super) fn as_stored(&self) -> &str {
        &self.0
    }

    /// The text to store.
    pub(super) fn into_stored(self) -> Cow<'static, str> {
        self.0
    }

    /// The event, unless a newer version wrote it.
    pub fn as_known(&self) -> Option<AuditEvent> {
        AuditEvent::from_name(&self.0)
    }

    /// The event's present name, or the stored text of an unknown event.
    pub fn name(&self) -> &str {
        match self.as_known() {
            Some(event) => event.as_str(),
            None => &self.0,
        }
    }
}

impl From<AuditEvent> for RecordedEvent {
    fn from(event: AuditEvent) -> Self {
        Self(Cow::Borrowed(event.stored_kind()))
    }
}

impl PartialEq<AuditEvent> for RecordedEvent {
    fn eq(&self, event: &AuditEvent) -> bool {
        self.as_known() == Some(*event)
    }
}
