//! Result of the last action, shown once on the next page.
//!
//! A short-lived cookie carries a code, never text. No one can make a page say something else, and a link cannot make
//! it claim that something happened.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;

use crate::State;
use crate::cookies::{Cookie, append};
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
    Approved = "approved", true, "Approved. The request is sent now, once.";
    ApprovedWithGrant = "approved-grant", true,
        "Approved, and the grant is open. You can revoke it under Policies & grants.";
    OneApproval = "one-approval", true,
        "Your approval counts. The request is sent once enough people have approved.";
    Denied = "denied", true, "Denied. Nothing was sent.";
    TooLate = "too-late", false, "This request was already decided or has expired; what you see is how it stands.";
    NotEligible = "not-eligible", false, "You may not decide this request. Nothing was changed.";
    PasskeyNeeded = "passkey", false, "This request needs a passkey. Nothing was changed.";
    BadGrant = "bad-grant", false,
        "A grant of that length is not possible here. Nothing was decided; choose another or approve once.";
    ReasonTooLong = "reason-long", false, "The reason is too long. Nothing was decided; shorten it.";
    Saved = "saved", true, "Changes saved.";
    AgentDisabled = "agent-off", true, "Disabled. Its requests are refused from now on.";
    AgentEnabled = "agent-on", true, "Enabled. Its key works again.";
    AgentRemoved = "agent-gone", true, "The agent was removed.";
    CredentialAdded = "credential-new", true,
        "Added. The secret is stored and cannot be shown again; the workspace's mode applies until you write a policy.";
    SecretReplaced = "secret-new", true, "The secret was replaced, and the grants of this credential ended.";
    CredentialRemoved = "credential-gone", true, "The credential, its policy and its grants were removed.";
    Verified = "verified", true, "One request was sent; the API's answer stands under Verify.";
    ProbeUrl = "probe-url", false, "Say which address to try: a whole http or https URL.";
    ProbeHost = "probe-host", false,
        "Not sent: the address is outside the allowed hosts, or not one that Pyxis may reach.";
    ProbeFailed = "probe-failed", false, "Sent nothing useful: the host could not be reached or broke off.";
    ProbeToken = "probe-token", false, "Not sent: the token endpoint gave no access token.";
    ProbeConnect = "probe-connect", false, "Not sent: connect the account first, or replace the secret.";
    Connected = "connected", true, "Connected. Tokens are renewed by themselves from now on.";
    NotConnected = "not-connected", false,
        "Not connected: the provider refused, or it took too long. Nothing was changed; try again.";
    ProbeTimeout = "probe-timeout", false, "The host did not answer in time.";
    PolicySaved = "policy-saved", true, "Policy saved. It holds from the next request on.";
    PolicyRemoved = "policy-gone", true, "Policy removed. The workspace's mode decides again.";
    GrantRevoked = "grant-gone", true, "Grant revoked. The next such request asks again.";
    GrantOver = "grant-over", false, "That grant was over already.";
    PersonDisabled = "person-off", true, "Disabled, and signed out everywhere.";
    PersonEnabled = "person-on", true, "Enabled. A new sign-in link may be needed.";
    RoleChanged = "role", true, "Role changed. The person has to sign in again.";
    MembersOnly = "members-only", false, "Grants are for members you may change. Owners and admins decide everywhere.";
    RightsSaved = "rights-saved", true, "Saved. It holds from the next request on.";
    InvitationWithdrawn = "invite-gone", true, "Withdrawn. The link no longer works.";
    SignedInAlready = "signed-in-already", false, "They have signed in meanwhile. Disable them instead.";
    PolicyStaged = "policy-staged", true, "Proposed. It applies once your passkey confirms it.";
    StagedWithdrawn = "staged-gone", true, "Withdrawn. The policy stays as it is.";
    StagedOutdated = "staged-old", false,
        "The policy has changed since this was proposed, so nothing was applied. Propose the change again.";
    StagedApplied = "staged-applied", true, "Confirmed. The policy holds from the next request on.";
    PasskeyFailed = "passkey-failed", false,
        "The passkey could not be checked: it took too long, or it was for something else. Nothing was changed; try again.";
    PasskeyAdded = "passkey-added", true, "The passkey is registered. Try it the next time you sign in.";
    PasskeyRenamed = "passkey-named", true, "Renamed.";
    PasskeyRemoved = "passkey-gone", true, "Removed. It neither signs in nor approves any more.";
    PasswordChanged = "password", true, "Changed. Every other session of yours has ended.";
    TokenRevoked = "token-gone", true, "Revoked. The token no longer works.";
    DeniedAll = "denied-all", true, "Disabled. Everything it waited for and that you may decide was denied.";
    LastOwner = "last-owner", false, "A workspace needs an enabled owner. Make somebody else an owner first.";
    OwnersOnly = "owners-only", false, "Only an owner can change owners or make links for them.";
    WebhookDisabled = "webhook-off", true, "Disabled. Nothing is sent there from now on.";
    WebhookEnabled = "webhook-on", true, "Enabled. Events are sent there from now on.";
    WebhookRemoved = "webhook-gone", true, "The endpoint and its deliveries were removed.";
    LogoSet = "logo", true, "The logo was drawn anew and set.";
    LogoRemoved = "logo-gone", true, "The logo was removed.";
    BrowserAdded = "browser-new", true, "This browser is notified from now on.";
    BrowserRefused = "browser-bad", false,
        "Not added: the browser's push service is not one that Pyxis may reach, or there are too many browsers.";
    BrowserRemoved = "browser-gone", true, "Stopped. That browser is not notified any more.";
    AccountUnlinked = "unlinked", true, "Unlinked. What is pressed from that account decides nothing.";
    Resent = "resent", true, "It is sent again now. Reload in a moment to see how that went.";
    ResendDisabled = "resend-off", false, "The endpoint is disabled. Enable it, then send again.";
    ScorerAdded = "scorer-new", true, "Added. Programs name it by its number.";
    RescoreStarted = "rescore-started", true, "Outdated scores are being computed. Reload the page to see how far it is.";
    NothingToRescore = "nothing-to-rescore", true, "Every stored score is up to date.";
    ScorerSaved = "scorer-saved", true, "Saved. Each score follows when it is next asked for.";
    ScorerRemoved = "scorer-gone", true, "The scorer was removed, with its scores and their history.";
    KeySaved = "api-key-saved", true, "Saved. It holds from the next request on.";
    KeyRevoked = "api-key-gone", true, "Revoked. The key no longer works.";
    HistoryAsked = "history-asked", true, "Asked. An owner or admin has to approve the use case.";
    HistoryApproved = "history-yes", true, "Approved. The key reads history from the next request on.";
    HistoryRefused = "history-no", true, "Refused. The key still reads no history.";
    HistoryWithdrawn = "history-gone", true, "Withdrawn. The key no longer reads history.";
    HistorySettled = "history-settled", false,
        "That was settled already, by somebody else or by a change of the key; what you see is how it stands.";
    StampRevoked = "stamp-revoked", true, "Revoked. The credential no longer counts and cannot come back in.";
    StampRevokedBefore = "stamp-revoked-before", false, "That credential was revoked already.";
    PlatformSaved = "platform-saved", true, "Saved. Programs read the new catalogue from now on.";
    PlatformRemoved = "platform-gone", true, "The platform is no longer in the catalogue.";
    LastPlatform = "last-platform", false,
        "A catalogue needs a platform. Add another first, or go back to the built-in catalogue.";
    CatalogueReset = "catalogue-reset", true, "The built-in catalogue is in force again.";
    IssuerAdded = "issuer-new", true, "Listed. Credentials of this issuer are taken from now on.";
    IssuerRenamed = "issuer-renamed", true, "The issuer was listed already; it has the new name.";
    IssuerRemoved = "issuer-gone", true, "Removed. New credentials of this issuer are refused.";
}

impl Notice {
    /// Redirects to `path` (303, so that a reload repeats nothing) and shows this notice there.
    pub(crate) fn then(self, state: &State, path: &str) -> Response {
        let mut response = see_other(path);
        append(&mut response, state.cookies.set(Cookie::Notice, self.code(), LIFETIME));
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
