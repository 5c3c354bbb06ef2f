//! Error pages: the error, its cause, and the next step.

use askama::Template;

/// Any failure of a dashboard page.
#[derive(Clone, Debug, Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    pub status: u16,
    /// Title: `This page does not exist`.
    pub title: String,
    /// Cause, in a sentence or two.
    pub why: String,
    /// Target of the button: a path of this site.
    pub next: String,
    /// Label of the button.
    pub next_label: String,
    /// Request id, to find the log line.
    pub request_id: Option<String>,
}

impl ErrorPage {
    fn new(status: u16, title: &str, why: &str, request_id: Option<String>) -> Self {
        Self {
            status,
            title: title.to_owned(),
            why: why.to_owned(),
            next: "/app/inbox".to_owned(),
            next_label: "Go to the inbox".to_owned(),
            request_id,
        }
    }

    /// 403: signed in, but not allowed.
    pub fn forbidden(request_id: Option<String>) -> Self {
        let why = "Only owners and admins of this workspace can do this. Ask one of them, or sign in with another account.";
        Self::new(403, "Not allowed", why, request_id)
    }

    /// 403: the form is older than the session.
    pub fn stale_form(request_id: Option<String>) -> Self {
        let why = "The form belongs to an earlier session or another site. Nothing was changed. Open the page again and repeat the action.";
        Self::new(403, "This form is no longer valid", why, request_id)
    }

    /// 404.
    pub fn not_found(request_id: Option<String>) -> Self {
        let why = "The URL is wrong, or the page was removed or belongs to another workspace.";
        Self::new(404, "Page not found", why, request_id)
    }

    /// 404 for a link that was used or has expired.
    pub fn link_used(request_id: Option<String>) -> Self {
        let why = "A sign-in link works once and for a limited time. Ask a workspace manager for a new one, or create one on the server: pyxis user link you@example.com";
        let mut page = Self::new(404, "This link has been used or has expired", why, request_id);
        "/sign-in".clone_into(&mut page.next);
        "Go to sign-in".clone_into(&mut page.next_label);
        page
    }

    /// 409: someone else was faster. `what` says what it is now.
    pub fn conflict(what: &str, request_id: Option<String>) -> Self {
        Self::new(409, "Already decided", what, request_id)
    }

    /// Anything else that was refused; `why` says what to do.
    pub fn refused(status: u16, why: &str) -> Self {
        Self::new(status, "Request refused", why, None)
    }

    /// 500 and 503.
    pub fn internal(request_id: Option<String>) -> Self {
        let why = "Pyxis could not complete this, and nothing was sent upstream because of it. Try again. If the error persists, look up the request id below in the server log.";
        Self::new(500, "Something went wrong on our side", why, request_id)
    }
}
