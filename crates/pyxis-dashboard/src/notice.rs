//! Result of the last action, shown once on the next page.
//!
//! A short-lived cookie carries a code, never text. No one can make a page say something else, and a link cannot make
//! it claim that something happened.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;

use crate::cookies::{Cookie, Cookies, append};
use crate::view::Flash;

const LIFETIME: Duration = Duration::from_mins(1);

macro_rules! notices {
    ($($name:ident = $code:literal, $good:literal, $text:literal;)+) => {
        /// A notice, by its code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Notice { $(#[doc = $text] $name),+ }

        impl Notice {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),+];

            const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            /// The notice with this code.
            pub(crate) fn from_code(code: &str) -> Option<Self> {
                match code { $($code => Some(Self::$name),)+ _ => None }
            }

            /// The text that the page shows.
            pub(crate) fn flash(self) -> Flash {
                match self { $(Self::$name => Flash { good: $good, text: $text.to_owned() }),+ }
            }
        }
    };
}

notices! {
    Approved = "approved", true, "Approved. The request is being sent.";
    ApprovedWithGrant = "approved-grant", true,
        "Approved with a grant. You can revoke the grant under Policies & grants.";
    OneApproval = "one-approval", true,
        "Your approval counts. The request is sent when enough people have approved.";
    Denied = "denied", true, "Denied. Nothing was sent.";
    TooLate = "too-late", false, "Already decided or expired. The current state is shown.";
    ApprovedEdited = "approved-edited", true, "Approved as edited. The edited request is being sent.";
    RequestChanged = "request-changed", false,
        "Someone edited this request after you had opened it. Nothing was decided. Read it again, then decide.";
    TaskApproved = "task-approved", true, "Task approved. Its requests are sent without approval until it ends.";
    TaskDenied = "task-denied", true, "Task denied. Nothing was sent.";
    TaskStopped = "task-stopped", true, "Task stopped. Its requests need approval again.";
    TaskOver = "task-over", false, "Nothing was changed: the task is decided or has ended. The current state is shown.";
    TaskNeedsPasskey = "task-passkey", false, "This task needs a passkey. Nothing was changed. Choose Approve task with passkey.";
    NothingSelected = "none-selected", false, "Nothing was decided. Select at least one request first.";
    NotEligible = "not-eligible", false, "You cannot decide this request. Nothing was changed.";
    PasskeyNeeded = "passkey", false, "This request needs a passkey. Nothing was changed.";
    BadGrant = "bad-grant", false,
        "A grant of that length is not available here. Nothing was decided. Choose another length or approve once.";
    ReasonTooLong = "reason-long", false, "The reason is too long. Nothing was decided. Shorten it and deny again.";
    Saved = "saved", true, "Changes saved.";
    AgentDisabled = "agent-off", true, "Agent disabled. Its requests are refused.";
    AgentEnabled = "agent-on", true, "Agent enabled. Its key works again.";
    AgentRemoved = "agent-gone", true, "Agent removed.";
    ConnectionRevoked = "connection-gone", true, "Connection revoked. Its tokens no longer work.";
    CredentialAdded = "credential-new", true,
        "Credential added. The secret cannot be shown again. The workspace mode applies until you write a policy.";
    SecretReplaced = "secret-new", true, "Secret replaced. The credential's grants ended.";
    CredentialRemoved = "credential-gone", true, "Credential removed, with its policy and grants.";
    Verified = "verified", true, "One request was sent. The API's response is shown under Verify.";
    ProbeUrl = "probe-url", false, "Enter the URL to try: a full http or https URL.";
    ProbeHost = "probe-host", false,
        "Not sent: the URL is outside the allowed hosts, or Pyxis may not connect to it.";
    ProbeFailed = "probe-failed", false, "No response: the host could not be reached or closed the connection.";
    ProbeToken = "probe-token", false, "Not sent: the token endpoint did not issue an access token.";
    ProbeConnect = "probe-connect", false, "Not sent: connect the account first, or replace the secret.";
    Connected = "connected", true, "Connected. Tokens are renewed automatically.";
    NotConnected = "not-connected", false,
        "Not connected: the provider refused, or it took too long. Nothing was changed. Try again.";
    ToolsListed = "tools", true, "The server listed its tools.";
    ToolsFailed = "tools-failed", false, "The server did not list its tools. Check the URL and the secret.";
    ToolsDenied = "tools-denied", false, "Not sent: the credential's policy denies this URL.";
    ToolChanged = "tool-changed", false, "Not saved: the tool has just changed. Read it again.";
    ProbeTimeout = "probe-timeout", false, "The host did not respond in time.";
    PolicySaved = "policy-saved", true, "Policy saved. It applies from the next request.";
    PolicyRemoved = "policy-gone", true, "Policy removed. The workspace mode applies again.";
    GrantRevoked = "grant-gone", true, "Grant revoked. The next matching request needs approval.";
    GrantOver = "grant-over", false, "The grant had already ended.";
    PersonDisabled = "person-off", true, "Person disabled and signed out everywhere.";
    PersonEnabled = "person-on", true, "Person enabled. They may need a new sign-in link.";
    RoleChanged = "role", true, "Role changed. The person must sign in again.";
    MembersOnly = "members-only", false, "You can assign rights only to members. Owners and admins already decide for every credential.";
    RightsSaved = "rights-saved", true, "Saved. It applies from the next request.";
    InvitationWithdrawn = "invite-gone", true, "Invitation withdrawn. The link no longer works.";
    SignedInAlready = "signed-in-already", false, "Not withdrawn: this person has signed in. Disable them instead.";
    PolicyStaged = "policy-staged", true, "Change proposed. It takes effect once you confirm it with your passkey.";
    StagedWithdrawn = "staged-gone", true, "Proposal withdrawn. The policy does not change.";
    StagedOutdated = "staged-old", false,
        "Not applied: the policy has changed since this proposal. Propose the change again.";
    StagedApplied = "staged-applied", true, "Change confirmed. The policy applies from the next request.";
    PasskeyFailed = "passkey-failed", false,
        "The passkey was not accepted: it took too long or was meant for another action. Nothing was changed. Try again.";
    PasskeyAdded = "passkey-added", true, "Passkey registered. You can use it the next time you sign in.";
    PasskeyRenamed = "passkey-named", true, "Passkey renamed.";
    PasskeyRemoved = "passkey-gone", true, "Passkey removed. It can no longer sign in or approve.";
    PasswordChanged = "password", true, "Password changed. All your other sessions have ended.";
    TokenRevoked = "token-gone", true, "Token revoked. It no longer works.";
    DeniedAll = "denied-all", true, "Agent disabled. Its pending requests that you may decide were denied.";
    LastOwner = "last-owner", false, "A workspace needs an enabled owner. Make someone else an owner first.";
    OwnersOnly = "owners-only", false, "Only an owner can change owners or create links for them.";
    WebhookDisabled = "webhook-off", true, "Endpoint disabled. It receives no more events.";
    WebhookEnabled = "webhook-on", true, "Endpoint enabled. It receives events again.";
    WebhookRemoved = "webhook-gone", true, "Endpoint removed, with its deliveries.";
    LogoSet = "logo", true, "Logo saved.";
    LogoRemoved = "logo-gone", true, "Logo removed.";
    BrowserAdded = "browser-new", true, "This browser now receives notifications.";
    BrowserRefused = "browser-bad", false,
        "Not added: Pyxis may not connect to the browser's push service, or too many browsers are registered.";
    BrowserRemoved = "browser-gone", true, "Notifications stopped for that browser.";
    AccountUnlinked = "unlinked", true, "Account unlinked. It can no longer decide requests.";
    Resent = "resent", true, "Resending now. Reload in a moment to see the result.";
    ResendDisabled = "resend-off", false, "Not sent: the endpoint is disabled. Enable it, then resend.";
    JobAdded = "job-new", true, "Job added. It runs in the background.";
    JobCanceled = "job-canceled", true, "Job canceled. Finished rows stay.";
    JobEnded = "job-ended", false, "Not canceled: the job has already ended.";
    JobRetried = "job-again", true, "Failed rows are queued again.";
    NothingToRetry = "job-nothing", false,
        "Nothing was queued: no failed row has an address. Correct the rows and upload them as a new job.";
    JobRuns = "job-runs", false, "Not removed: the job has not ended. Cancel it first.";
    JobRemoved = "job-gone", true, "Job removed, with its results.";
    ScorerAdded = "scorer-new", true, "Scorer added. Programs refer to it by its ID.";
    ScorerChangeWithdrawn = "change-withdrawn", true, "Change withdrawn. Weights and threshold stay as they are.";
    RescoreStarted = "rescore-started", true, "Recomputing stale scores. Reload the page to see the progress.";
    NothingToRescore = "nothing-to-rescore", true, "All stored scores are up to date.";
    ScorerSaved = "scorer-saved", true, "Scorer saved. Each score is recomputed when it is next requested.";
    ReviewGranted = "review-granted", true, "Review granted. The holder sees the reason.";
    ReviewDeclined = "review-declined", true, "Review declined. The holder sees the reason.";
    ScorerRemoved = "scorer-gone", true, "Scorer removed, with its scores and their history.";
    KeySaved = "api-key-saved", true, "Saved. It applies from the next request.";
    KeyRevoked = "api-key-gone", true, "Key revoked. It no longer works.";
    HistoryAsked = "history-asked", true, "Access requested. An owner or admin must approve the use case.";
    HistoryApproved = "history-yes", true, "Access approved. The key can read history.";
    HistoryRefused = "history-no", true, "Access refused. The key still cannot read history.";
    HistoryWithdrawn = "history-gone", true, "Access withdrawn. The key can no longer read history.";
    HistorySettled = "history-settled", false,
        "Already decided. The current state is shown.";
    StampRevoked = "stamp-revoked", true, "Credential revoked. It no longer counts and cannot be submitted again.";
    StampRevokedBefore = "stamp-revoked-before", false, "The credential was already revoked.";
    PlatformSaved = "platform-saved", true, "Catalogue saved. Programs read it from now on.";
    PlatformRemoved = "platform-gone", true, "Platform removed from the catalogue.";
    LastPlatform = "last-platform", false,
        "A catalogue needs at least one platform. Add another first, or restore the built-in catalogue.";
    CatalogueReset = "catalogue-reset", true, "Built-in catalogue restored.";
    IssuerAdded = "issuer-new", true, "Issuer added. Its credentials are accepted.";
    IssuerRenamed = "issuer-renamed", true, "Issuer renamed. It was already trusted.";
    IssuerRemoved = "issuer-gone", true, "Issuer removed. Its new credentials are refused.";
}

impl Notice {
    /// Redirects to `path` (303, so that a reload repeats nothing) and shows this notice there.
    pub(crate) fn redirect(self, cookies: Cookies, path: &str) -> Response {
        let mut response = see_other(path);
        append(&mut response, cookies.set(Cookie::Notice, self.code(), LIFETIME));
        response
    }
}

/// A 303 to one of our paths.
pub(crate) fn see_other(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path)]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_and_fits_into_a_cookie() {
        for notice in Notice::ALL {
            assert_eq!(Notice::from_code(notice.code()), Some(*notice));
            assert!(notice.code().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
            assert!(!notice.flash().text.is_empty());
        }
        assert_eq!(Notice::from_code("<b>"), None);
    }
}
