//! Forms that are wrong, or that lead to a page of their own.

use pyxis_dashboard::view::credentials::CredentialKind;

use super::{CapturedPage, Tour};
use crate::support::PASSWORD;

/// Targets and fields of the owner's forms, in order. A § stands for the text of a stranger.
const FORMS: &[(&str, &str)] = &[
    ("/app/agents", "name=no name§&rate_limit_per_hour=x§&max_pending=y§"),
    ("/app/inbox/decide", "verdict=approve&txn=none§&txn=7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11"),
    ("/app/agents", "name=importer&scope=some"),
    ("/app/agents/*/edit", "name=no name§&max_pending=y§"),
    ("/app/agents/*/rotate", ""),
    ("/app/tasks/*/approve", "keep-1=on&uses-1=x§&minutes=y§"),
    (
        "/app/credentials",
        "kind=header&name=no name§&description=said§&allowed_hosts=*bad§&header_name=Host§\
         &header_format={secret}§&secret=x",
    ),
    ("/app/credentials", "kind=oauth2_refresh&name=x§&authorization_url=§"),
    ("/app/credentials/*/edit", "description=said§&allowed_hosts=*bad§"),
    ("/app/credentials/*/secret", "secret="),
    ("/app/credentials/*/verify", "url=http://127.0.0.1:9/me§"),
    ("/app/credentials/account*/connect", ""),
    ("/app/import/credentials", "env=OPENAI_API_KEY=sk-x\nMAIL§=1\nnonsense§"),
    ("/app/import/credentials", ""),
    (
        "/app/policies/billing*",
        "method_GET=auto&deny_urls=/v1/**/x§&min_approvals=x§&allowed_approvers=no one§",
    ),
    ("/app/policies/billing*/explain", "method=POST&url=http://127.0.0.1:9/v1/x?q=zz§"),
    ("/app/policies/billing*/explain", "method=GET&url=http://127.0.0.1:9/v1/x"),
    (
        "/app/policies/billing*/replay",
        "method_POST=deny&min_approvals=1&channel=dashboard&approval_timeout_minutes=60\
         &replay_count=100",
    ),
    ("/app/webhooks", "url=ftp://§&description=said§&event=none§"),
    ("/app/webhooks", "url=https://127.0.0.1:9/second&description=said"),
    ("/app/webhooks/*/edit", "url=ftp://§&description=said§"),
    ("/app/webhooks/*/rotate", ""),
    ("/app/deliveries/*/resend", ""),
    ("/app/notifications/link", "platform=telegram"),
    ("/app/notifications/chats", "telegram_chat=no room§&matrix_room=no room§"),
    ("/app/brand", "display_name=Acme&accent=#0f766e&preview=on"),
    ("/app/brand", "display_name=Acme§&accent=red§"),
    ("/app/people", "email=bo@example§ x&role=admin"),
    ("/app/people/*/link", ""),
    ("/app/account/password", "password=wrong§&new_password=short&new_password_again=x"),
    ("/app/account/quiet-hours", "time_zone=Europe/Berlin&from=22:00&to=07:00"),
    ("/app/account/quiet-hours", "time_zone=Mars&from=22:00&to=07:00§"),
    ("/app/account/tokens", "name=ci§"),
    ("/app/account/tokens", "name=deploy&scope=px:approve&expires_in_days=90"),
    ("/app/settings", "approval_timeout_minutes=x§"),
    ("/app/scorers", "name=Forum§&threshold=x§"),
    ("/app/scorers/*", "name=Forum§&threshold=5&revision=0&weight.Discord=x§"),
    ("/app/scorers/*/preview", "name=Forum§&threshold=0.2&weight.Discord=1&extra_name=not a name§"),
    ("/app/scorers/*/preview", "name=Forum&threshold=0.2&weight.Discord=1"),
    ("/app/score-jobs/*/retry", ""),
    ("/app/score-jobs/*/cancel", ""),
    ("/app/api-keys", "name=reader§&stamps_tier=9§&stamps_limit=x§"),
    ("/app/api-keys", "name=reader&can_read=on&stamps_tier=1&models_tier=1"),
    ("/app/publishable-keys", "name=shop§&origins=*§&stamps_tier=1"),
    ("/app/publishable-keys", "name=shop&scorer_id=1&origins=https://shop.example&stamps_tier=1"),
    ("/app/api-keys/*/edit", "name=reader§&models_limit=x§"),
    ("/app/api-keys/*/history", "use_case="),
    ("/app/catalogue", "id=For um§&name=Forum§&description=said§&connect_message=said§&icon=x§&url=x§"),
    ("/app/catalogue/*", "name=Forum§&group=Members§&stamp=not a name§&says=Is a member§"),
    ("/app/issuers", "did=did:web:§&name=said§"),
    ("/app/policies/billing*/remove", ""),
    ("/app/oauth/consent", "client_id=none§"),
    (
        "/app/oauth/consent",
        "client_id=px_client_tour&redirect_uri=https://connector.example/callback&response_type=code\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&state=s§\
         &answer=allow&agent=new&name=no name§&scope=some&credential=x§",
    ),
    (
        "/app/oauth/consent",
        "client_id=px_client_tour&redirect_uri=https://connector.example/callback&response_type=code\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&state=s§\
         &answer=allow&agent=new&name=connected&scope=some",
    ),
];

/// Addresses that no page links to as such.
const ADDRESSES: &str = "/app/inbox?q=zz§ /app/decided?q=zz§ /app/agents?q=zz§ /app/credentials?q=zz§ /app/policies?q=zz§ \
    /app/people?q=zz§ /app/webhooks?q=zz§ /app/notifications?q=zz§ /app/scorers?q=zz§ \
    /app/api-keys?q=zz§ /app/catalogue?q=zz§ /app/issuers?q=zz§ /app/usage?q=zz§ /app/audit?q=zz§ \
    /app/audit?q=billing&outcome=asked&event=requests /app/account?q=zz§ \
    /app/new/credential?search=git§ /app/oauth/callback?state=s§&code=c§ \
    /app/oauth/consent?client_id=px_client_tour&redirect_uri=https%3A%2F%2Fconnector.example%2Fcallback&response_type=code&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&state=s§ \
    /app/explorer?address=vitalik.eth§ \
    /app/explorer?scorer=1&address=0x3333333333333333333333333333333333333333 \
    /app/explorer?scorer=2&address=0x1111111111111111111111111111111111111111 \
    /app/explorer?scorer=1&address=0x2222222222222222222222222222222222222222 \
    /app/models?address=0x1111111111111111111111111111111111111111 \
    /app/verification?address=0x1111111111111111111111111111111111111111 \
    /app/verification/strategy?strategy=score&addresses=vitalik.eth§ /app/models?address=vitalik.eth§ /app/verification?address=vitalik.eth§&action_id=x§";

impl Tour {
    /// Opens what no page links to, and what a member and a stranger see.
    pub(super) async fn visit_others(&mut self) {
        let encoded = percent_encoding::utf8_percent_encode(self.hostile, percent_encoding::NON_ALPHANUMERIC);
        let encoded = encoded.to_string();
        let kinds = CredentialKind::ALL.iter().map(|kind| format!("/app/new/credential?kind={}", kind.name));
        let given = ADDRESSES.split(' ').map(|address| address.replace('§', &encoded));
        for address in given.chain(kinds).collect::<Vec<_>>() {
            self.get(&address).await;
        }
        let alone =
            |page: &CapturedPage| Some(format!("/approve/{}", page.place.strip_prefix("/app/approvals/")?));
        for path in self.pages.iter().filter_map(alone).collect::<Vec<_>>() {
            self.get(&path).await;
        }
        let staged = self.visited("/app/staged/");
        for path in
            ["/app/inbox", "/app/account", "/app/policies", "/app/notifications", "/app/people", &staged]
        {
            let page = self.member.get(path).await;
            self.capture(&format!("member {path}"), page);
        }
        self.visit_as_stranger().await;
    }

    async fn visit_as_stranger(&mut self) {
        let mut stranger = self.server.browser();
        for path in ["/sign-in", "/sign-in?ended=1", "/sign-in?next=/approve/x", "/link/used", "/nothing"] {
            let page = stranger.get(path).await;
            self.capture(path, page);
        }
        let stale = stranger.post("/sign-in", &[], &[]).await;
        self.capture("stale form", stale);
        let answer = [("ceremony", "x"), ("credential", "{}")];
        let refused = stranger.submit("/sign-in", "/sign-in/passkey", &answer).await;
        self.capture("POST /sign-in/passkey", refused);
        let email = self.text("eve@example.com");
        for attempt in 0..20 {
            let page = stranger.sign_in(&email, PASSWORD).await;
            let locked = page.status == http::StatusCode::TOO_MANY_REQUESTS;
            if attempt == 0 || locked {
                self.capture("POST /sign-in", page);
            }
            // One tour is locked out: each attempt hashes a password.
            if locked || !self.hostile.is_empty() {
                break;
            }
        }
        for link in std::mem::take(&mut self.links) {
            let page = stranger.get(&link).await;
            self.capture("/link/confirm", page);
            let differ = [("password", PASSWORD), ("password_again", "other")];
            let page = stranger.submit(&link, &link, &differ).await;
            self.capture("POST /link/differ", page);
        }
    }

    /// A page with this start of its path.
    fn visited(&self, start: &str) -> String {
        let page = self.pages.iter().find(|page| page.place.starts_with(start) && !page.place.contains('?'));
        page.unwrap_or_else(|| panic!("no page at {start}")).place.clone()
    }

    /// Sends every form of the list.
    pub(super) async fn send_forms(&mut self) {
        for (target, fields) in FORMS {
            self.send(target, fields).await;
        }
        // Changed by the forms: another secret signs too, and the proposal is outdated.
        for place in ["/app/webhooks/", "/app/staged/"].map(|start| self.visited(start)) {
            self.get(&place).await;
        }
    }
}
