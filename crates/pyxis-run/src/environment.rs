//! The environment of the command.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use http::uri::Authority;
use pyxis_core::secret::{SecretString, holds_key};

use crate::files::{JAVA_PASSWORD, TrustFiles};
use crate::listener::Proxy;
use crate::placeholder;

/// Port of a proxy whose address names none.
const DEFAULT_PORT: u16 = 80;
/// Hosts that the command reaches without the proxy.
const DIRECT: &str = "localhost,127.0.0.1,::1";
/// The same in Java's spelling.
const DIRECT_JAVA: &str = "localhost|127.0.0.1|[::1]";

/// Variables with the URL of a proxy, in every spelling that tools read.
const PROXY: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "CARGO_HTTP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];
/// Variables with hosts that bypass the proxy.
const NO_PROXY: &[&str] = &["NO_PROXY", "no_proxy", "npm_config_noproxy"];
/// Variables with a file of certificates that tools trust in addition to those they know.
const ADDED_ROOTS: &[&str] = &["NODE_EXTRA_CA_CERTS", "DENO_CERT"];
/// Variables with a file of the only certificates that tools trust.
const ALL_ROOTS: &[&str] = &[
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
    "npm_config_cafile",
    "YARN_HTTPS_CA_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "PERL_LWP_SSL_CA_FILE",
    "COMPOSER_CAFILE",
];
/// Variables that are removed, because they lead around the proxy or to certificates that are in the bundle already.
pub(crate) const REMOVED: &[&str] =
    &["ALL_PROXY", "all_proxy", "SSL_CERT_DIR", "GIT_SSL_CAPATH", "GIT_PROXY_SSL_CAINFO"];

/// Variables and their values.
pub type Variables = BTreeMap<OsString, OsString>;

/// Surroundings of the command besides its own variables.
pub struct Surroundings<'a> {
    /// Proxy that the command connects to.
    pub proxy: &'a Proxy,
    /// The files with certificates.
    pub files: &'a TrustFiles,
    /// The agent key, so that no variable holds it.
    pub agent_key: &'a SecretString,
}

impl Surroundings<'_> {
    /// The environment of the command, made from that of `pyxis run`.
    ///
    /// Settings of Pyxis (`PX_…`) are left out, since they can be secrets. So are variables that a setting names
    /// as its source (`env:NAME`), and variables with a secret key of Pyxis, in use or not. Variables that usually hold
    /// the secret of a credential get a placeholder, also if they were set.
    pub fn environment(&self, own: impl IntoIterator<Item = (OsString, OsString)>) -> Variables {
        let mut variables = visible_variables(own.into_iter().collect(), self.agent_key.expose().as_bytes());
        set_all(&mut variables, self.proxy, self.files);
        variables
    }
}

/// Sets the variables by which tools find the proxy and trust it.
pub(crate) fn set_all(variables: &mut Variables, proxy: &Proxy, files: &TrustFiles) {
    set(variables, PROXY, proxy.url().expose());
    set(variables, NO_PROXY, DIRECT);
    set(variables, &["NODE_USE_ENV_PROXY"], "1");
    set(variables, ADDED_ROOTS, files.authority());
    set(variables, ALL_ROOTS, files.bundle());
    set(variables, &["SYSTEM_WGETRC"], files.wget());
    let java = variables.remove(OsStr::new("JAVA_TOOL_OPTIONS"));
    let java = java_options(java, proxy.address(), &files.java());
    variables.insert("JAVA_TOOL_OPTIONS".into(), java);
    for (name, value) in placeholder::variables(proxy.routes()) {
        variables.insert(name.into(), value.into());
    }
}

/// The variables of `pyxis run` that the command may see.
fn visible_variables(own: Variables, key: &[u8]) -> Variables {
    let private = private_names(&own, key);
    let is_removed = |name: &OsStr| REMOVED.iter().any(|removed| name == OsStr::new(removed));
    own.into_iter().filter(|(name, _)| !is_removed(name) && !private.contains(name)).collect()
}

/// Names of the variables that may hold a secret of Pyxis. They are its settings (`PX_…`), and those that a setting names
/// as its source (`env:NAME`). Others hold a key: `key`, or what has the shape of one.
pub fn private_names(own: &Variables, key: &[u8]) -> BTreeSet<OsString> {
    let sources: BTreeSet<OsString> =
        own.iter().filter(|(name, _)| is_setting(name)).filter_map(|(_, value)| source(value)).collect();
    let is_private = |name: &OsString, value: &OsStr| {
        is_setting(name) || sources.contains(name) || holds(value, key) || holds_key(value.as_bytes())
    };
    let found = own.iter().filter(|(name, value)| is_private(name, value));
    found.map(|(name, _)| name.clone()).collect()
}

/// True for a setting of Pyxis.
fn is_setting(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"PX_")
}

/// Variable that a setting names as its source.
fn source(value: &OsStr) -> Option<OsString> {
    let name = value.as_bytes().trim_ascii().strip_prefix(b"env:")?;
    Some(OsStr::from_bytes(name).to_owned())
}

fn holds(value: &OsStr, key: &[u8]) -> bool {
    !key.is_empty() && value.as_bytes().windows(key.len()).any(|window| window == key)
}

fn set(variables: &mut Variables, names: &[&str], value: impl Into<OsString>) {
    let value = value.into();
    for name in names {
        variables.insert((*name).into(), value.clone());
    }
}

/// The parent's options, and after them those of the proxy. The token is not among them. Java prints this variable
/// when it starts, and its HTTP clients ask the program itself for the user of a proxy.
fn java_options(parent: Option<OsString>, proxy: &Authority, trust_store: &Path) -> OsString {
    let mut options = parent.map_or_else(OsString::new, |mut parent| {
        parent.push(" ");
        parent
    });
    let port = proxy.port_u16().unwrap_or(DEFAULT_PORT);
    let host = proxy.host();
    for scheme in ["http", "https"] {
        options.push(format!("-D{scheme}.proxyHost={host} -D{scheme}.proxyPort={port} "));
    }
    options.push(format!(
        "-Dhttp.nonProxyHosts={DIRECT_JAVA} -Djdk.http.auth.tunneling.disabledSchemes= \
         -Djavax.net.ssl.trustStore="
    ));
    options.push(PathBuf::from(trust_store));
    options.push(format!(
        " -Djavax.net.ssl.trustStoreType=JKS -Djavax.net.ssl.trustStorePassword={JAVA_PASSWORD}"
    ));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_settings_nor_their_sources_nor_the_key_reach_the_command() {
        let own = [
            ("PX_ENCRYPTION_KEY", "env:MYMASTER"),
            ("PX_LOG", "debug"),
            ("MYMASTER", "00ff"),
            ("MYMASTER_2", "kept"),
            ("OTHER", "env:HOME"),
            ("HOME", "/home/me"),
            ("COPY", "Bearer px_agent_1"),
            ("AGENT_KEY", "px_agent_00112233445566778899aabbccddeeff"),
            ("SCORES", "px_api_00112233445566778899aabbccddeeff"),
            ("PERSON", "https://u:px_pat_00112233445566778899aabbccddeeff@host/"),
            ("PAGE", "px_pub_00112233445566778899aabbccddeeff"),
            ("ALL_PROXY", "socks5://127.0.0.1"),
        ];
        let own: Variables = own.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let left = visible_variables(own, b"px_agent_1");
        let names: Vec<_> = left.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["HOME", "MYMASTER_2", "OTHER", "PAGE"]);
    }
}
