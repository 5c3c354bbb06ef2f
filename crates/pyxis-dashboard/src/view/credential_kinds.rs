//! Ways to attach a credential, and the fields of their forms. The fields have the same names as in the admin API, so
//! that an API error is shown at the right field.

/// The way a credential is attached; `?kind=` of the new page and the hidden field `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// `Authorization: Bearer`. Fields: `secret`.
    Bearer,
    /// One or more headers. Fields: `header_name` and `header_format`, repeated in pairs (a pair with
    /// an empty name is skipped; an empty format means `{secret}`), `secret`.
    Header,
    /// HTTP basic. Fields: `username`, `password`.
    Basic,
    /// A query parameter. Fields: `parameter`, `secret`.
    Query,
    /// A cookie. Fields: `cookie_name`, `secret`.
    Cookie,
    /// A signature of OAuth 1.0a. From here to [`Kind::GithubApp`], the fields are [`Kind::fields`] and
    /// [`Kind::secret_fields`].
    Oauth1,
    /// An AWS signature, version 4.
    AwsSigv4,
    /// A signature over parts of the request; also `header_name` and `header_format` as above.
    Hmac,
    /// A client certificate.
    Mtls,
    /// An account that a person connects.
    Oauth2Refresh,
    /// A token obtained with client credentials.
    Oauth2ClientCredentials,
    /// A token obtained with a signed assertion.
    JwtBearer,
    /// A token of an installed app.
    GithubApp,
    /// A signing sidecar. Fields: `api_base`, `secret` (may be empty).
    Sidecar,
    /// A key that signs payloads. Fields: `algorithm`, `secret` (empty generates a new key).
    SigningKey,
}

/// A field of a form.
#[derive(Clone, Copy, Debug)]
pub struct KindField {
    /// Name: the member of the configuration or of the secret.
    pub name: &'static str,
    /// Label.
    pub label: &'static str,
    /// Instruction; may be empty.
    pub hint: &'static str,
    /// An example; may be empty.
    pub example: &'static str,
    /// True if it may be left empty.
    pub optional: bool,
    /// Kind of input.
    pub input: Input,
}

/// Kind of input of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// One line.
    Line,
    /// Several lines.
    Lines,
    /// One line that is neither displayed nor kept.
    Secret,
    /// Several lines that are not kept.
    SecretLines,
    /// One of these values, each with its label.
    Choice(&'static [(&'static str, &'static str)]),
}

impl KindField {
    const fn line(name: &'static str, label: &'static str, example: &'static str) -> Self {
        Self { name, label, hint: "", example, optional: false, input: Input::Line }
    }

    const fn secret(name: &'static str, label: &'static str) -> Self {
        Self { name, label, hint: "", example: "", optional: false, input: Input::Secret }
    }

    const fn choice(
        name: &'static str,
        label: &'static str,
        choices: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { name, label, hint: "", example: "", optional: false, input: Input::Choice(choices) }
    }

    const fn lines(self) -> Self {
        Self { input: Input::Lines, ..self }
    }

    const fn secret_lines(self) -> Self {
        Self { input: Input::SecretLines, ..self }
    }

    const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// True if the value is not kept after the form is sent.
    pub const fn is_secret(&self) -> bool {
        matches!(self.input, Input::Secret | Input::SecretLines)
    }
}

const TOKEN_URL: KindField =
    KindField::line("token_url", "Token URL", "https://login.example.com/oauth/token")
        .hint("The provider's token endpoint.");
const SCOPE: KindField = KindField::line("scope", "Scope", "read write")
    .hint("Permissions to request, separated by spaces.")
    .optional();
const CLIENT_AUTH: KindField = KindField::choice(
    "client_auth",
    "Client authentication",
    &[("basic", "HTTP Basic"), ("body", "Form body")],
);
const CLIENT_ID: KindField = KindField::line("client_id", "Client id", "");
const PRIVATE_KEY: KindField =
    KindField::secret("private_key", "Private key").secret_lines().hint("PEM, as issued by the provider.");

const AWS: &[KindField] = &[
    KindField::line("region", "Region", "eu-central-1"),
    KindField::line("service", "Service", "s3")
        .hint("The service name in host names, such as s3, sts or execute-api."),
];
const AWS_SECRET: &[KindField] = &[
    KindField::line("access_key_id", "Access key id", "AKIA…"),
    KindField::secret("secret_access_key", "Secret access key"),
    KindField::secret("session_token", "Session token").optional().hint("Only for temporary credentials."),
];
const OAUTH1: &[KindField] = &[KindField::choice(
    "without_token",
    "Without an access token",
    &[("omit", "Omit oauth_token"), ("empty", "Send an empty oauth_token, as some servers require")],
)];
const OAUTH1_SECRET: &[KindField] = &[
    KindField::line("consumer_key", "Consumer key", ""),
    KindField::secret("consumer_secret", "Consumer secret"),
    KindField::line("token", "Access token", "")
        .optional()
        .hint("Leave blank to sign as the application only."),
    KindField::secret("token_secret", "Access token secret").optional(),
];
const HMAC: &[KindField] = &[
    KindField::line("content", "Signed content", r"{timestamp}{method}{target}{body}").lines().hint(
        r"Placeholders for parts of the request: {method}, {host}, {path}, {query}, {target}, {body}, {body_sha256}, {timestamp}, {timestamp_ms}, {timestamp_iso}, {nonce}, {secret.id}. \n is a line break.",
    ),
    KindField::choice(
        "hash",
        "Hash",
        &[("sha256", "SHA-256"), ("sha512", "SHA-512"), ("sha1", "SHA-1, for old APIs")],
    ),
    KindField::choice(
        "key_encoding",
        "Key encoding",
        &[("text", "Text: its bytes are the key"), ("hex", "Hexadecimal"), ("base64", "Base64")],
    ),
    KindField::choice(
        "signature_encoding",
        "Signature encoding",
        &[("hex", "Hexadecimal"), ("base64", "Base64"), ("base64url", "Base64 for URLs")],
    ),
];
const HMAC_SECRET: &[KindField] = &[
    KindField::secret("key", "Key"),
    KindField::line("id", "Key id", "")
        .optional()
        .hint("For APIs that need to know which key signed. Use it as {secret.id}."),
];
const MTLS_SECRET: &[KindField] = &[
    KindField::line("certificate", "Certificate", "-----BEGIN CERTIFICATE-----")
        .lines()
        .hint("PEM: the client certificate, followed by any intermediate certificates."),
    PRIVATE_KEY,
];
const ACCOUNT: &[KindField] = &[
    KindField::line("authorization_url", "Authorization URL", "https://login.example.com/oauth/authorize")
        .hint("The provider's consent page. Without it, enter a refresh token below.")
        .optional(),
    TOKEN_URL,
    SCOPE,
    KindField::line(
        "authorization_parameters",
        "Extra authorization parameters",
        "access_type=offline&prompt=consent",
    )
    .hint("Parameters that the provider needs to issue a refresh token.")
    .optional(),
    CLIENT_AUTH,
];
const ACCOUNT_SECRET: &[KindField] = &[
    CLIENT_ID,
    KindField::secret("client_secret", "Client secret").optional().hint("Leave blank for a public client."),
    KindField::secret("refresh_token", "Refresh token")
        .optional()
        .hint("Only if you have one. Otherwise connect the account after adding it."),
];
const CLIENT: &[KindField] = &[
    TOKEN_URL,
    SCOPE,
    KindField::line("audience", "Audience", "https://api.example.com")
        .hint("Only if the provider requires it.")
        .optional(),
    CLIENT_AUTH,
];
const CLIENT_SECRET: &[KindField] = &[CLIENT_ID, KindField::secret("client_secret", "Client secret")];
const ASSERTION: &[KindField] = &[
    TOKEN_URL,
    KindField::line("issuer", "Issuer", "robot@project.iam.gserviceaccount.com")
        .hint("Issuer of the assertion (iss)."),
    KindField::line("subject", "Subject", "")
        .hint("Subject of the assertion (sub), if not the issuer.")
        .optional(),
    KindField::line("audience", "Audience", "")
        .hint("Audience of the assertion (aud), if not the token URL.")
        .optional(),
    SCOPE,
    KindField::line("key_id", "Key id", "").hint("Id of the issuer's key (kid).").optional(),
    KindField::choice(
        "algorithm",
        "Algorithm",
        &[("RS256", "RS256: RSA"), ("ES256", "ES256: P-256"), ("EdDSA", "EdDSA: Ed25519")],
    ),
];
const GITHUB: &[KindField] = &[
    KindField::line("app_id", "App id", "123456").hint("App id or client id, from the app's settings page."),
    KindField::line("installation_id", "Installation id", "98765432")
        .hint("The number at the end of the installation's URL."),
    KindField::line("api_url", "API URL", "https://api.github.com")
        .hint("Only for GitHub Enterprise Server.")
        .optional(),
];
const KEY_ALONE: &[KindField] = &[PRIVATE_KEY];

impl CredentialKind {
    /// All kinds in the order of the page, in named groups.
    pub const GROUPS: [(&'static str, &'static [Self]); 4] = [
        ("Sent as is", &[Self::Bearer, Self::Header, Self::Basic, Self::Query, Self::Cookie]),
        ("Request signing", &[Self::Oauth1, Self::AwsSigv4, Self::Hmac, Self::Mtls]),
        (
            "Fetched token",
            &[Self::Oauth2Refresh, Self::Oauth2ClientCredentials, Self::JwtBearer, Self::GithubApp],
        ),
        ("Other", &[Self::Sidecar, Self::SigningKey]),
    ];

    /// The value in forms and links. It is the admin API's name of the kind, if it has one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Header => "header",
            Self::Basic => "basic",
            Self::Query => "query",
            Self::Cookie => "cookie",
            Self::Oauth1 => "oauth1",
            Self::AwsSigv4 => "aws_sigv4",
            Self::Hmac => "hmac",
            Self::Mtls => "mtls",
            Self::Oauth2Refresh => "oauth2_refresh",
            Self::Oauth2ClientCredentials => "oauth2_client_credentials",
            Self::JwtBearer => "jwt_bearer",
            Self::GithubApp => "github_app",
            Self::Sidecar => "sidecar",
            Self::SigningKey => "signing_key",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::GROUPS.iter().flat_map(|(_, kinds)| *kinds).copied().find(|kind| kind.name() == name)
    }

    /// Link text.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer token",
            Self::Header => "Headers",
            Self::Basic => "Basic",
            Self::Query => "Query",
            Self::Cookie => "Cookie",
            Self::Oauth1 => "OAuth 1.0a",
            Self::AwsSigv4 => "AWS",
            Self::Hmac => "HMAC",
            Self::Mtls => "Client certificate",
            Self::Oauth2Refresh => "OAuth 2.0 account",
            Self::Oauth2ClientCredentials => "OAuth 2.0 client",
            Self::JwtBearer => "Signed assertion",
            Self::GithubApp => "GitHub App",
            Self::Sidecar => "Sidecar",
            Self::SigningKey => "Signing key",
        }
    }

    /// Effect on a request, in one sentence.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Bearer => "Sent as Authorization: Bearer followed by the secret. Most APIs use this.",
            Self::Header => "Sent in one or more headers of your choice, each made from a format.",
            Self::Basic => "Sent as a user name and password (HTTP Basic).",
            Self::Query => "Added to the URL as a query parameter.",
            Self::Cookie => "Sent as a cookie.",
            Self::Oauth1 => "Each request is signed with OAuth 1.0a (HMAC-SHA1).",
            Self::AwsSigv4 => "Each request is signed with AWS Signature Version 4.",
            Self::Hmac => "Parts of each request are signed with a shared key. Headers carry the signature.",
            Self::Mtls => "The TLS connection presents a client certificate.",
            Self::Oauth2Refresh => {
                "You connect an account at a provider. Requests carry access tokens that are renewed automatically."
            }
            Self::Oauth2ClientCredentials => {
                "Requests carry an access token fetched with a client id and secret."
            }
            Self::JwtBearer => "Requests carry an access token fetched with a signed assertion (JWT).",
            Self::GithubApp => "Requests carry the installation token of a GitHub App.",
            Self::Sidecar => "Requests go to a signing sidecar, which signs and forwards them.",
            Self::SigningKey => {
                "Signs payloads that a person has read and approved. The key is never sent anywhere."
            }
        }
    }

    /// Fields of its configuration, if [`Field`] describes them.
    pub const fn fields(self) -> &'static [KindField] {
        match self {
            Self::AwsSigv4 => AWS,
            Self::Hmac => HMAC,
            Self::Oauth1 => OAUTH1,
            Self::Oauth2Refresh => ACCOUNT,
            Self::Oauth2ClientCredentials => CLIENT,
            Self::JwtBearer => ASSERTION,
            Self::GithubApp => GITHUB,
            _ => &[],
        }
    }

    /// Fields of its secret, likewise.
    pub const fn secret_fields(self) -> &'static [KindField] {
        match self {
            Self::Oauth1 => OAUTH1_SECRET,
            Self::AwsSigv4 => AWS_SECRET,
            Self::Hmac => HMAC_SECRET,
            Self::Mtls => MTLS_SECRET,
            Self::Oauth2Refresh => ACCOUNT_SECRET,
            Self::Oauth2ClientCredentials => CLIENT_SECRET,
            Self::JwtBearer | Self::GithubApp => KEY_ALONE,
            _ => &[],
        }
    }

    /// The form's field for a member of configuration or secret.
    pub fn field(self, member: &str) -> Option<&'static KindField> {
        self.fields().iter().chain(self.secret_fields()).find(|field| field.name == member)
    }

    /// True if the kind has headers with formats.
    pub(super) const fn has_headers(self) -> bool {
        matches!(self, Self::Header | Self::Hmac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> impl Iterator<Item = CredentialKind> {
        CredentialKind::GROUPS.iter().flat_map(|(_, kinds)| *kinds).copied()
    }

    #[test]
    fn every_kind_is_found_by_its_name_and_no_two_fields_of_a_page_share_one() {
        for kind in every_kind() {
            assert_eq!(CredentialKind::from_name(kind.name()), Some(kind));
            let mut names: Vec<_> =
                kind.fields().iter().chain(kind.secret_fields()).map(|field| field.name).collect();
            names.extend(["name", "description", "allowed_hosts", "allow_http", "kind", "csrf", "url"]);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", kind.name());
        }
    }
}
