//! Settings that are probably not what was meant. They do not stop a start.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pyxis_core::nearest::suggestion;

use super::env::Env;
use super::{Flags, keys};

/// Beginning of every variable of the program.
const PREFIX: &str = "PX_";

/// Variables that are not settings: the file of settings, and the server, key and token of programs that use one.
const OTHERS: [&str; 6] =
    ["PX_CONFIG", "PX_URL", "PX_AGENT_KEY", "PX_AGENT_KEY_FILE", "PX_TOKEN", "PX_TOKEN_FILE"];

/// A doubtful setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingWarning {
    /// Variable, flag or file.
    pub place: String,
    pub message: String,
    /// Remedy.
    pub fix: &'static str,
}

/// Variables that no setting has, and files of secrets that every user of the machine can read. Values are not quoted.
pub fn warnings(flags: &Flags, env: &impl Env) -> Vec<SettingWarning> {
    let files = secret_files(flags, env).into_iter().filter(|(_, path)| others_may_read(path));
    let readable = files.map(|(place, path)| SettingWarning {
        place,
        message: format!("every user of this machine can read {}", path.display()),
        fix: "make the file readable for its owner alone: chmod 600",
    });
    unknown_variables(env).into_iter().chain(readable).collect()
}

/// Variables that no setting has.
pub fn unknown_variables(env: &impl Env) -> Vec<SettingWarning> {
    let settings = keys::all().flat_map(|key| {
        let name = keys::env_name(key.name);
        let file = is_secret(key.name).then(|| format!("{name}_FILE"));
        [Some(name), file].into_iter().flatten()
    });
    let known: Vec<String> = settings.chain(OTHERS.map(str::to_owned)).collect();
    let mut unknown: Vec<String> = env.starting_with(PREFIX).into_iter().map(|(name, _)| name).collect();
    unknown.retain(|name| !known.contains(name));
    unknown.sort_unstable();
    let warning = |name: String| SettingWarning {
        message: format!("there is no such setting{}", suggestion(&name, known.iter().map(String::as_str))),
        place: name,
        fix: "correct or remove the variable; docs/reference/configuration.md lists all",
    };
    unknown.into_iter().map(warning).collect()
}

/// True for a setting whose value can be in a file that another variable names.
pub(super) fn is_secret(key: &str) -> bool {
    let ends = ["key", "token", "secret", "secrets", "password", "headers", "webhooks"];
    key == "database_url" || ends.iter().any(|end| key.ends_with(end))
}

fn secret_files(flags: &Flags, env: &impl Env) -> Vec<(String, PathBuf)> {
    let named = keys::all().filter(|key| is_secret(key.name)).filter_map(|key| {
        let variable = format!("{}_FILE", keys::env_name(key.name));
        env.var(&variable).map(|path| (variable, PathBuf::from(path)))
    });
    let flag = flags.get("encryption_key").and_then(|source| source.strip_prefix("file:"));
    named.chain(flag.map(|path| ("--encryption-key".to_owned(), PathBuf::from(path)))).collect()
}

/// True if the mode lets users read a file who are neither its owner nor in its group.
fn others_may_read(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o007 != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn env(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_variable_that_no_setting_has_is_named_with_the_nearest_one_and_without_its_value() {
        let env = env(&[
            ("PX_BASEURL", "https://a.example"),
            ("PX_SOMETHING_ELSE", "secret"),
            ("PX_DATABASE_URL_FILE", "/a"),
            ("PX_BASE_URL", "https://a.example"),
            ("PX_TELEGRAM_WEBHOOK_SECRET_FILE", "/a"),
            ("PX_AGENT_KEY", "px_agent_x"),
            ("OTHER", "1"),
        ]);
        let found = warnings(&Flags::new(), &env);
        let told: Vec<_> = found.iter().map(|one| (one.place.as_str(), one.message.as_str())).collect();
        let expected = [
            ("PX_BASEURL", "there is no such setting (did you mean PX_BASE_URL?)"),
            ("PX_SOMETHING_ELSE", "there is no such setting"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_file_of_a_secret_that_everyone_can_read_is_named_and_one_for_a_group_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, "x").unwrap();
        let text = path.to_str().unwrap();
        let found = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let flags = Flags::from([("encryption_key", format!("file:{text}"))]);
            let found = warnings(&flags, &env(&[("PX_ENCRYPTION_KEY_FILE", text)]));
            found.into_iter().map(|one| one.place).collect::<Vec<_>>()
        };
        assert_eq!(found(0o644), ["PX_ENCRYPTION_KEY_FILE", "--encryption-key"]);
        assert!(found(0o640).is_empty() && found(0o600).is_empty());
    }
}
