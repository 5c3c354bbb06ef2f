//! Sign-in, links and errors.

use pyxis_dashboard::view::error::ErrorPage;
use pyxis_dashboard::view::sign_in::{LinkPage, SignInPage, SignInState};

use super::{Rendered, Sample, render};

impl Sample {
    fn sign_in(self, state: SignInState, email: &str) -> SignInPage {
        SignInPage {
            csrf: self.t("c2FtcGxl"),
            email: self.t(email),
            next: self.t("/app/inbox"),
            purpose: None,
            state,
        }
    }

    fn link(self, set_password: bool, problem: Option<&str>) -> LinkPage {
        LinkPage {
            csrf: self.t("c2FtcGxl"),
            token: self.t("5fJ2"),
            email: self.t("ana@example.com"),
            workspace: self.t("Acme"),
            set_password,
            problem: problem.map(|p| self.t(p)),
        }
    }

    pub(super) fn entrance(self) -> Vec<Rendered> {
        let locked = SignInState::Locked { wait: self.t("12 minutes") };
        let deciding = SignInPage {
            purpose: Some(self.t("Sign in to decide an agent's request.")),
            ..self.sign_in(SignInState::Fresh, "")
        };
        let id = || Some(self.t("0198c6a2-7c1e-7d2a-9a55-0c8f6f1f2a10"));
        let conflict = self.t("bo@example.com denied this request 4 seconds before you. Nothing was sent.");
        vec![
            ("/sign-in", render(&self.sign_in(SignInState::Fresh, ""))),
            ("/sign-in/wrong", render(&self.sign_in(SignInState::Wrong, "ana@example.com"))),
            ("/sign-in/locked", render(&self.sign_in(locked, "ana@example.com"))),
            ("/sign-in/ended", render(&self.sign_in(SignInState::Ended, "ana@example.com"))),
            ("/sign-in/passkey", render(&self.sign_in(SignInState::PasskeyRefused, ""))),
            ("/sign-in/deciding", render(&deciding)),
            ("/link/confirm", render(&self.link(false, None))),
            ("/link/password", render(&self.link(true, None))),
            (
                "/link/mismatch",
                render(&self.link(true, Some("The passwords differ. Enter the same password twice."))),
            ),
            ("/error/403", render(&ErrorPage::forbidden(id()))),
            ("/error/form", render(&ErrorPage::stale_form(id()))),
            ("/error/404", render(&ErrorPage::not_found(None))),
            ("/error/link", render(&ErrorPage::link_used(None))),
            ("/error/409", render(&ErrorPage::conflict(&conflict, id()))),
            ("/error/500", render(&ErrorPage::internal(id()))),
        ]
    }
}
