//! `pyxis completions` and `pyxis man`.

use crate::support::{App, Setup};

#[tokio::test]
async fn each_shell_gets_a_script_that_knows_the_commands() {
    let app = App::empty(Setup::new());
    for (shell, words) in [
        ("bash", ["_pyxis()", "healthcheck", "--without-audit-check"]),
        ("zsh", ["#compdef pyxis", "healthcheck:Check", "--without-audit-check"]),
        ("fish", ["complete -c pyxis", "-a \"healthcheck\"", "-l without-audit-check"]),
        ("powershell", ["Register-ArgumentCompleter", "'healthcheck'", "--without-audit-check"]),
    ] {
        let script = app.cli(&["completions", shell]).await.expect(0).stdout;
        for word in words {
            assert!(script.contains(word), "{shell}: {word} is missing");
        }
    }
    let refused = app.cli(&["completions", "tcsh"]).await.expect(2);
    assert!(refused.stderr.contains("possible values: bash"), "{}", refused.stderr);
}

#[tokio::test]
async fn each_command_gets_a_man_page() {
    let app = App::empty(Setup::new());
    let directory = app.directory().join("man");
    let path = directory.to_str().unwrap();
    let refused = app.cli(&["man", path]).await.expect(1);
    assert!(refused.stderr.contains("is not a directory; create it first"), "{}", refused.stderr);
    std::fs::create_dir(&directory).unwrap();
    app.cli(&["man", path]).await.expect(0);
    let page = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    assert!(page("pyxis.1").contains("pyxis\\-healthcheck(1)"));
    assert!(page("pyxis-agent-add.1").contains(".SH OPTIONS"));
}
