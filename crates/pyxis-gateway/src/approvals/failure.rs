//! Details of a failed approved call. Stored instead of the missing response, sealed in the same way and for the same
//! time.

use http::{HeaderMap, StatusCode};
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_http::Problem;
use pyxis_store::approvals;
use pyxis_store::cipher::{Keyring, Sealed};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::error::lost_answer::LostAnswer;
use crate::runtime::stored::StoredResponse;

/// Details of a failure.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ForwardFailure {
    /// Code of the same failure without an approval.
    code: String,
    /// One-sentence explanation.
    pub(super) detail: Option<String>,
    /// URL at which a person can fix the problem.
    pub(super) url: Option<String>,
    /// Reason that the response is missing, if the request may have been executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost: Option<LostAnswer>,
    /// Status of the host's response, if it could not be passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered: Option<u16>,
}

impl ForwardFailure {
    fn from_error(error: &Error) -> Self {
        let problem = Problem::from(error);
        Self {
            code: problem.code().to_owned(),
            detail: Some(problem.detail().to_owned()),
            url: problem.member("url").and_then(|url| url.as_str()).map(str::to_owned),
            lost: if let Error::OutcomeUnknown(lost) = error { Some(*lost) } else { None },
            answered: error.upstream_status().map(|status| status.as_u16()),
        }
    }

    /// Reads the details stored for a failed call.
    pub(super) fn read(kept: &StoredResponse) -> Self {
        serde_json::from_slice(&kept.body).unwrap_or_default()
    }

    /// Converts failures with details to the error for the waiting agent.
    pub(super) fn into_error(self) -> Option<Error> {
        if let Some(lost) = self.lost {
            return Some(Error::OutcomeUnknown(lost));
        }
        if let Some(error) = self.answered.and_then(|status| self.withheld_response(status)) {
            return Some(error);
        }
        match (self.code.as_str(), self.url, self.detail) {
            // Nothing was sent, unlike with other timeouts.
            ("upstream_timeout", _, Some(detail)) if detail == Error::ConnectTimeout.to_string() => {
                Some(Error::ConnectTimeout)
            }
            // Failures with the second code from earlier versions have no status.
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

    /// The failure of a host that answered with `status`.
    fn withheld_response(&self, status: u16) -> Option<Error> {
        let status = StatusCode::from_u16(status).ok()?;
        let unscrubbed = Error::UnknownContentCoding { status };
        if self.code == unscrubbed.code() {
            return Some(unscrubbed);
        }
        let prefix = format!("the host answered {}, but ", status.as_u16());
        let why = self.detail.as_deref()?.strip_prefix(&prefix)?.to_owned();
        Some(Error::BrokenAnswer { status, why: why.into() })
    }
}

/// Serializes and seals the details.
pub(super) fn seal(
    keyring: &Keyring,
    entropy: &dyn Entropy,
    workspace: WorkspaceId,
    txn: TxnId,
    error: &Error,
) -> Sealed {
    let kept = StoredResponse {
        status: StatusCode::BAD_GATEWAY,
        headers: HeaderMap::new(),
        body: serde_json::to_vec(&ForwardFailure::from_error(error)).unwrap_or_default().into(),
        truncated: false,
    };
    let aad = approvals::response_aad(workspace, txn);
    keyring.seal(entropy, &aad, kept.encode().expose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_can_do_about_it_survives_and_other_failures_have_their_word() {
        let (url, detail) = ("https://pyxis.example/app/credentials/api", "it must be connected again");
        let told = ForwardFailure::from_error(&Error::ReauthorizationRequired {
            url: url.to_owned(),
            detail: detail.to_owned(),
        });
        let kept = told.into_error().unwrap();
        assert!(matches!(&kept, Error::ReauthorizationRequired { url: kept, .. } if kept == url));
        assert_eq!(kept.to_string(), detail);
        let told = ForwardFailure::from_error(&Error::TokenEndpoint("it answered 401".to_owned()));
        assert_eq!(told.detail.as_deref(), Some("no access token: it answered 401"));
        assert!(matches!(told.into_error(), Some(Error::TokenEndpoint(why)) if why == "it answered 401"));
        assert!(ForwardFailure::from_error(&Error::UpstreamTimeout).into_error().is_none());
    }

    /// The failure as the agent receives it after storing and reading.
    fn told_again(error: &Error) -> Problem {
        let kept = serde_json::to_vec(&ForwardFailure::from_error(error)).unwrap();
        let read: ForwardFailure = serde_json::from_slice(&kept).unwrap();
        Problem::from(&read.into_error().unwrap())
    }

    #[test]
    fn a_failure_has_the_same_code_detail_and_status_with_and_without_an_approval() {
        let status = StatusCode::IM_A_TEAPOT;
        for error in [
            Error::ConnectTimeout,
            Error::Unreachable("cannot connect to the host"),
            Error::Upstream("the host closed the connection early".into()),
            Error::UnknownContentCoding { status },
            Error::BrokenAnswer { status, why: "that is not a final response".into() },
            Error::OutcomeUnknown(LostAnswer::Timeout),
            Error::OutcomeUnknown(LostAnswer::Missing),
        ] {
            let (with, without) = (told_again(&error), Problem::from(&error));
            assert_eq!((with.status(), with.code()), (without.status(), without.code()));
            assert_eq!(with.detail(), without.detail());
            assert_eq!(with.member("upstream_status"), without.member("upstream_status"));
        }
        assert!(told_again(&Error::ConnectTimeout).detail().ends_with("nothing was sent"));
        assert_eq!(
            told_again(&Error::UnknownContentCoding { status }).member("upstream_status").unwrap(),
            418
        );
    }

    #[test]
    fn a_failure_that_an_earlier_version_kept_is_still_told() {
        let read: ForwardFailure =
            serde_json::from_str(r#"{"code":"unknown_content_coding","detail":"withheld","url":null}"#)
                .unwrap();
        assert!(matches!(read.into_error(), Some(Error::Upstream(detail)) if detail == "withheld"));
    }
}
