//! Metadata documents of OAuth clients, kept for a short time. Each process fetches its own.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::redirect_uri::RedirectUri;

/// Maximum documents. Beyond it, all are dropped and fetched again when needed.
const MOST: usize = 200;
/// Time for which a document is used without fetching it again.
const FRESH: Duration = Duration::from_mins(5);

/// The useful part of a client's metadata document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientDocument {
    /// Name that the program gives itself.
    pub(crate) name: String,
    /// Redirect URIs that the document lists.
    pub(crate) redirect_uris: Vec<RedirectUri>,
}

/// Documents by their URL.
#[derive(Default)]
pub(crate) struct ClientDocuments(Mutex<HashMap<String, (ClientDocument, UnixMillis)>>);

impl ClientDocuments {
    /// The document of this URL, if it was fetched recently.
    pub(crate) fn get(&self, url: &str, now: UnixMillis) -> Option<ClientDocument> {
        let documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (document, until) = documents.get(url)?;
        (now < *until).then(|| document.clone())
    }

    /// Keeps a document that was just fetched.
    pub(crate) fn put(&self, url: &str, document: ClientDocument, now: UnixMillis) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.len() >= MOST && !documents.contains_key(url) {
            documents.clear();
        }
        documents.insert(url.to_owned(), (document, now.plus(FRESH)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str) -> ClientDocument {
        ClientDocument { name: name.to_owned(), redirect_uris: Vec::new() }
    }

    #[test]
    fn a_document_is_used_for_five_minutes_and_their_number_is_bounded() {
        let documents = ClientDocuments::default();
        let now = UnixMillis(1_700_000_000_000);
        documents.put("https://a.example/client", document("A"), now);
        let end = now.plus(FRESH);
        assert_eq!(documents.get("https://a.example/client", UnixMillis(end.0 - 1)), Some(document("A")));
        assert_eq!(documents.get("https://a.example/client", end), None);
        for number in 0..MOST + 5 {
            documents.put(&format!("https://{number}.example/client"), document("B"), now);
        }
        assert!(documents.0.lock().unwrap().len() <= MOST);
    }
}
