//! Why an approved call was not completed, beyond the one word: kept in the place of the answer that there is
//! not, sealed like it and for as long.

use http::{HeaderMap, StatusCode};
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_http::Problem;
use pyxis_store::approvals;
use pyxis_store::cipher::Sealed;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lost_answer::LostAnswer;
use crate::state::State;
use crate::stored::StoredResponse;

/// What there is to say about a failure.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Failure {
    /// The code that the same failure has without an approval.
    code: String,
    /// One sentence.
    pub(super) detail: Option<String>,
    /// Where a person does something about it.
    pub(super) url: Option<String>,
    /// Why the answer is missing, where the request may have been carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost: Option<LostAnswer>,
}

impl Failure {
    fn of(error: &Error) -> Self {
        let problem = Problem::from(error);
        Self {
            code: problem.code().to_owned(),
            detail: Some(problem.detail().to_owned()),
            url: problem.member("url").and_then(|url| url.as_str()).map(str::to_owned),
            lost: if let Error::OutcomeUnknown(lost) = error { Some(*lost) } else { None },
        }
    }

    /// What an answer that was kept for a failed call says.
    pub(super) fn read(kept: &StoredResponse) -> Self {
        serde_json::from_slice(&kept.body).unwrap_or_default()
    }

    /// The failures that say more than their word, as the agent that waits for the answer is told them.
    pub(super) fn into_error(self) -> Option<Error> {
        if let Some(lost) = self.lost {
            return Some(Error::OutcomeUnknown(lost));
        }
        match (self.code.as_str(), self.url, self.detail) {
            ("upstream_error" | "unknown_content_coding", _, Some(detail)) => {
                Some(Error::Upstream(detail.into()))
            }
            ("reauthorization_required", Some(url), Some(detail)) => {
                Some(Error::ReauthorizationRequired { url, detail })
            }
            ("token_error", _, Some(detail)) => {
                let why = detail.strip_prefix("no access token: ").unwrap_or(&detail);
                Some(Error::TokenEndpoint(why.to_owned()))
            }
            _ => None,
        }
    }
}

/// As it is stored.
pub(super) fn seal(state: &State, workspace: WorkspaceId, txn: TxnId, error: &Error) -> Sealed {
    let kept = StoredResponse {
        status: StatusCode::BAD_GATEWAY,
        headers: HeaderMap::new(),
        body: serde_json::to_vec(&Failure::of(error)).unwrap_or_default().into(),
        truncated: false,
    };
    let aad = approvals::response_aad(workspace, txn);
    state.keyring.seal(&*state.entropy, &aad, kept.encode().expose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_can_do_about_it_survives_and_other_failures_have_their_word() {
        let (url, detail) = ("https://pyxis.example/app/credentials/api", "it must be connected again");
        let told =
            Failure::of(&Error::ReauthorizationRequired { url: url.to_owned(), detail: detail.to_owned() });
        let kept = told.into_error().unwrap();
        assert!(matches!(&kept, Error::ReauthorizationRequired { url: kept, .. } if kept == url));
        assert_eq!(kept.to_string(), detail);
        let told = Failure::of(&Error::TokenEndpoint("it answered 401".to_owned()));
        assert_eq!(told.detail.as_deref(), Some("no access token: it answered 401"));
        assert!(matches!(told.into_error(), Some(Error::TokenEndpoint(why)) if why == "it answered 401"));
        assert!(Failure::of(&Error::UpstreamTimeout).into_error().is_none());
    }
}
