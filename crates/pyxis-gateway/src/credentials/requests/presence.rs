//! Presence of a client: a person's decision is delivered only to one that still waits for it.

use std::time::Duration;

use tokio::sync::watch;

/// Presence of the client behind a request. Travels in the extensions of the request. Without a word to the contrary,
/// a client is present.
#[derive(Clone, Debug, Default)]
pub struct ClientPresence(Option<watch::Receiver<bool>>);

impl ClientPresence {
    /// The presence of a client that leaves once `true` is sent.
    pub fn watched() -> (watch::Sender<bool>, Self) {
        let (leave, has_left) = watch::channel(false);
        (leave, Self(Some(has_left)))
    }

    /// True if the client is known to have left.
    pub fn has_left(&self) -> bool {
        self.0.as_ref().is_some_and(|has_left| *has_left.borrow())
    }

    /// Resolves when the client leaves.
    pub(crate) async fn left(&self) {
        if let Some(has_left) = &self.0
            && has_left.clone().wait_for(|has_left| *has_left).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Limit of the wait for a decision: a time, or the client's departure.
#[derive(Clone, Debug)]
pub(crate) struct WaitLimit {
    pub(crate) time: Duration,
    pub(crate) client: ClientPresence,
}

impl WaitLimit {
    /// A wait for the client of a request.
    pub(crate) fn new(time: Duration, extensions: &http::Extensions) -> Self {
        Self { time, client: extensions.get().cloned().unwrap_or_default() }
    }
}

impl From<Duration> for WaitLimit {
    fn from(time: Duration) -> Self {
        Self { time, client: ClientPresence::default() }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn a_client_is_present_until_it_leaves() {
        assert!(timeout(LONG, ClientPresence::default().left()).await.is_err());
        let (leave, presence) = ClientPresence::watched();
        assert!(timeout(LONG, presence.left()).await.is_err());
        assert!(!presence.has_left());
        leave.send_replace(true);
        presence.left().await;
        assert!(presence.has_left());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_no_one_watches_any_more_is_present() {
        let (_, presence) = ClientPresence::watched();
        assert!(timeout(LONG, presence.left()).await.is_err());
        assert!(!presence.has_left());
    }
}
