//! `pyxis credential`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use pyxis_core::auth::CredentialKind;

use super::confirmation::Confirmation;
use super::names::{CredentialLabel, NameArgument};

/// `pyxis credential …`
#[derive(Debug, Subcommand)]
pub enum CredentialCommand {
    /// Store a credential.
    #[command(alias = "create")]
    Add(AddCredential),
    /// List credentials, never their secrets.
    List,
    /// Print a credential, never its secret.
    Show {
        #[command(flatten)]
        name: NameArgument<CredentialLabel>,
    },
    /// List presets: common APIs with their hosts and kinds.
    Presets {
        /// Words to search for in names and hosts.
        search: Vec<String>,
    },
    /// Store a credential for each preset whose variables are in a .env file.
    ImportEnv {
        /// File of variables; - reads standard input.
        file: PathBuf,
    },
    /// Generate or import a key that signs payloads (`POST /sign`); it never leaves Pyxis.
    GenerateKey(GenerateKey),
    /// Replace a credential's secret, which increases its version and ends its grants.
    SetSecret {
        #[command(flatten)]
        name: NameArgument<CredentialLabel>,
        #[command(flatten)]
        secret: SecretSource,
    },
    /// Replace the list of hosts that a credential may be sent to.
    SetHosts {
        #[command(flatten)]
        name: NameArgument<CredentialLabel>,
        /// Host that the credential may be sent to; repeat for several.
        #[arg(long = "allow-host", value_name = "HOST", required = true)]
        allow_hosts: Vec<String>,
        /// Allow plain http targets from now on.
        #[arg(long)]
        allow_http: bool,
        /// Refuse plain http targets from now on.
        #[arg(long, conflicts_with = "allow_http")]
        https_only: bool,
    },
    /// Remove a credential.
    #[command(alias = "delete")]
    Remove {
        #[command(flatten)]
        name: NameArgument<CredentialLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Send one GET request with a credential and print the status.
    Verify {
        #[command(flatten)]
        name: NameArgument<CredentialLabel>,
        /// URL to try [default: the preset's URL for its kind and hosts, or the root of its first host].
        #[arg(long)]
        url: Option<String>,
    },
}

/// `pyxis credential generate-key`
#[derive(Debug, Args)]
pub struct GenerateKey {
    #[command(flatten)]
    pub name: NameArgument<CredentialLabel>,
    /// Signature algorithm.
    #[arg(long, value_enum)]
    pub algorithm: SigningAlgorithm,
    /// Description.
    #[arg(long, default_value = "")]
    pub description: String,
    /// File with the key to import, 32 bytes as 64 hex characters [default: generate a key].
    #[arg(long, value_name = "FILE", conflicts_with = "import_env")]
    pub import_file: Option<PathBuf>,
    /// Environment variable with the key to import.
    #[arg(long, value_name = "NAME")]
    pub import_env: Option<String>,
}

/// Algorithms of signing keys.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SigningAlgorithm {
    /// RFC 8032.
    Ed25519,
    /// The curve of Bitcoin and Ethereum.
    #[value(name = "secp256k1")]
    Secp256k1,
    /// The NIST curve.
    #[value(name = "p256")]
    P256,
}

/// `pyxis credential add`
#[derive(Debug, Args)]
pub struct AddCredential {
    #[command(flatten)]
    pub name: NameArgument<CredentialLabel>,
    /// Description.
    #[arg(long, default_value = "")]
    pub description: String,
    /// Auth kind: the way to attach the secret.
    #[arg(long, value_name = "KIND", value_parser = kinds(), required_unless_present_any = ["auth_json", "preset"])]
    pub auth: Option<&'static CredentialKind>,
    /// Auth kind as JSON of the admin API, for example `{"kind":"mtls"}`; supports every kind.
    #[arg(long, value_name = "JSON", conflicts_with = "auth")]
    pub auth_json: Option<String>,
    /// Preset whose hosts and kind to use; see `pyxis credential presets`.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["auth", "auth_json"])]
    pub preset: Option<String>,
    /// Store the preset's starter policy too; `pyxis policy show` prints it.
    #[arg(long, requires = "preset")]
    pub starter_policy: bool,
    /// Setting of the kind, for example `app_id=12`, never a secret; repeat for several.
    #[arg(long = "set", value_name = "FIELD=VALUE", conflicts_with = "auth_json")]
    pub set: Vec<String>,
    /// Header name (header, hmac), parameter (query) or cookie name (cookie).
    #[arg(long, value_name = "NAME")]
    pub auth_name: Option<String>,
    /// Header value, with {secret} in it [default: {secret}]; {signature} for hmac.
    #[arg(long, value_name = "FORMAT")]
    pub auth_format: Option<String>,
    /// URL of the sidecar that signs requests, with --auth oauth1 [default: Pyxis signs them].
    #[arg(long, value_name = "URL")]
    pub api_base: Option<String>,
    /// Host that the credential may be sent to; repeat for several.
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
    /// Allow plain http targets.
    #[arg(long)]
    pub allow_http: bool,
    #[command(flatten)]
    pub secret: SecretSource,
}

/// Source of a secret; without any of these options, it is prompted for.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct SecretSource {
    /// File with the secret.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Environment variable with the secret.
    #[arg(long, value_name = "NAME")]
    pub secret_env: Option<String>,
}

/// Names of the kinds that are attached to requests.
fn kinds() -> impl TypedValueParser<Value = &'static CredentialKind> {
    let names = CredentialKind::attached().map(|kind| PossibleValue::new(kind.name).help(kind.explanation));
    PossibleValuesParser::new(names)
        .map(|name| CredentialKind::from_name(&name).unwrap_or(CredentialKind::USUAL))
}
