//! The script that a client's shell reads: the environment of `pyxis run`, for programs that it did not start.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use pyxis_core::secret::SecretString;

use crate::environment::{REMOVED, Variables, set_all};
use crate::files::{TrustFiles, TrustFilesError};
use crate::listener::Proxy;

/// Name of the script within the directory of the files.
const NAME: &str = "env.sh";

/// Writes `env.sh` next to the files, after which clients may start, and returns its path. It holds the proxy's token
/// and no other secret.
pub fn client_script(proxy: &Proxy, files: &TrustFiles) -> Result<PathBuf, TrustFilesError> {
    let mut variables = Variables::new();
    set_all(&mut variables, proxy, files);
    let path = files.directory().join(NAME);
    files.replace(&path, script(&variables).expose().as_bytes())?;
    Ok(path)
}

fn script(variables: &Variables) -> SecretString {
    let mut text = format!("unset {}\n", REMOVED.join(" "));
    for (name, value) in variables {
        let value = String::from_utf8_lossy(value.as_bytes());
        let _ = writeln!(text, "export {}={}", name.display(), quoted(&value));
    }
    SecretString::new(text)
}

/// A word of a POSIX shell that is this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_word_of_the_shell() {
        let variables = Variables::from([("A".into(), "it's $HOME; `x`".into())]);
        let text = script(&variables);
        assert!(text.expose().ends_with("\nexport A='it'\\''s $HOME; `x`'\n"), "{}", text.expose());
    }
}
