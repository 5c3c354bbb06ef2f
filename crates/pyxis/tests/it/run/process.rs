//! The command as a process: its environment, its files, its signals and its exit status.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Scene;
use super::scene::{LOOK, SECRET, search_path};
use crate::support::app::run;

#[tokio::test]
async fn the_exit_status_is_that_of_the_command() {
    let scene = Scene::new().await;
    scene.run(&[], &["true"]).await.expect(0);
    scene.run(&[], &["sh", "-c", "exit 7"]).await.expect(7);
    scene.run(&[], &["sh", "-c", "kill -9 $$"]).await.expect(128 + 9);
    let missing = run(scene.command(&[], &["no-such-command-of-anyone"])).await.expect(127);
    assert!(missing.stderr.contains("cannot run no-such-command-of-anyone"), "{missing:?}");
    run(scene.command(&[], &["/etc/passwd"])).await.expect(126);
}

#[tokio::test]
async fn signals_reach_the_command_and_its_end_is_reported() {
    let scene = Scene::new().await;
    for (signal, script, code) in [
        ("TERM", "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done", 42),
        ("INT", "trap 'exit 43' INT; echo ready; while :; do sleep 0.05; done", 43),
        ("TERM", "echo ready; exec sleep 60", 128 + 15),
    ] {
        let mut command = scene.command(&[], &["sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        pyxis_testkit::signal::send(signal, &child);
        let status = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(code), "{signal}: {script}");
    }
}

#[tokio::test]
async fn neither_the_agent_key_nor_a_secret_is_where_the_command_can_look() {
    let scene = Scene::new().await;
    let mut command = scene.command(&["--agent-key-env", "MY_KEY"], &["sh", "-c", LOOK]);
    command
        .env_remove("PX_AGENT_KEY")
        .env("MY_KEY", scene.key())
        .env("OPENAI_API_KEY", scene.key())
        .env("PX_ENCRYPTION_KEY_OF_SOMEONE", "a setting of Pyxis")
        .env("KEPT", "a variable of the person");
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("KEPT=a variable of the person"), "{seen}");
    for hidden in [scene.key(), SECRET, "a setting of Pyxis", "PRIVATE KEY"] {
        assert!(!seen.contains(hidden), "{hidden}");
    }
    assert!(seen.contains("BEGIN CERTIFICATE"));
    let directory = seen.lines().find_map(|line| line.strip_prefix("directory=")).unwrap();
    assert!(seen.contains(&format!("700 {directory}\n")), "{seen}");
    assert!(!PathBuf::from(directory).exists(), "the directory is removed at the end");
}

#[tokio::test]
async fn the_path_of_the_file_with_the_agent_key_does_not_reach_the_command() {
    let scene = Scene::new().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), scene.key()).unwrap();
    let look = "env; tr '\\0' '\\n' < /proc/$PPID/environ";
    let mut command = scene.command(&["--agent-key-env", "MY_KEY"], &["sh", "-c", look]);
    command
        .env_remove("PX_AGENT_KEY")
        .env("MY_KEY_FILE", file.path())
        .env("KEPT", "a variable of the person");
    let ran = run(command).await.expect(0);
    assert!(ran.stdout.contains("KEPT=a variable"), "{ran:?}");
    let path = file.path().to_str().unwrap();
    assert!(!ran.stdout.contains("MY_KEY_FILE") && !ran.stdout.contains(path), "{ran:?}");
}

/// Looks as root where the tests run as root, which may read every process in `/proc`.
#[tokio::test]
async fn the_environment_of_pyxis_run_itself_holds_no_secret_either() {
    let scene = Scene::new().await;
    let look = "tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline";
    let mut command = scene.command(&[], &["sh", "-c", look]);
    command.env("PX_DATABASE_URL", "postgres://u:a-password@h/d").env("KEPT", "a variable of the person");
    let ran = run(command).await.expect(0);
    let seen = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!seen.contains(scene.key()) && !seen.contains("a-password"), "{seen}");
    // Another user than root is refused.
    assert!(ran.stdout.contains("KEPT=a variable") || ran.stderr.contains("ermission denied"), "{ran:?}");
    assert!(ran.stdout.contains("run --url"), "the command line stays: {ran:?}");
}

#[tokio::test]
async fn another_user_than_root_cannot_look_at_pyxis_run_at_all() {
    if !rustix::process::geteuid().is_root() {
        // Every other test shows it then.
        return;
    }
    let scene = Scene::new().await;
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
    // Where that user may execute it.
    let program = home.path().join("pyxis");
    let look = format!("{LOOK}\ncat /proc/$PPID/maps; curl -sSf {}", scene.url("/"));
    let own = scene.command(&[], &["sh", "-c", &look]);
    std::fs::copy(own.get_program(), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&program);
    command.args(own.get_args()).env_clear().env("PATH", search_path()).current_dir(home.path());
    command.env("PX_AGENT_KEY", scene.key()).env("PX_DATA_DIR", home.path().join("data"));
    command.env("HOME", home.path()).env("TMPDIR", home.path());
    let ran = run(command).await.expect(0);
    assert!(ran.stdout.ends_with("ok"), "{ran:?}");
    assert_eq!(ran.stderr.matches("ermission denied").count(), 2, "environ and maps: {ran:?}");
    assert!(!format!("{ran:?}").contains(scene.key()) && !format!("{ran:?}").contains(SECRET), "{ran:?}");
}

#[tokio::test]
async fn tools_get_the_proxy_and_its_certificates_by_their_usual_variables() {
    let scene = Scene::new().await;
    let mut command = scene.command(&[], &["env"]);
    command
        .env("ALL_PROXY", "socks5://elsewhere")
        .env("HTTPS_PROXY", "http://elsewhere")
        .env("no_proxy", "*");
    let ran = run(command).await.expect(0);
    let value = |name: &str| {
        let found = ran.stdout.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        found.unwrap_or_else(|| panic!("{name} is not set")).to_owned()
    };
    assert!(!ran.stdout.contains("elsewhere"), "{ran:?}");
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "CARGO_HTTP_PROXY"] {
        assert!(value(name).starts_with("http://") && value(name).contains(":x@127.0.0.1:"), "{name}");
    }
    assert_eq!(
        (value("NO_PROXY"), value("no_proxy")),
        (value("NO_PROXY"), "localhost,127.0.0.1,::1".to_owned())
    );
    assert_eq!(value("NODE_USE_ENV_PROXY"), "1");
    assert!(value("NODE_EXTRA_CA_CERTS").ends_with("/ca.pem"));
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"] {
        assert!(value(name).ends_with("/bundle.pem"), "{name}");
    }
    let token = value("HTTP_PROXY");
    let token = token.strip_prefix("http://").unwrap().split(':').next().unwrap();
    assert!(!value("JAVA_TOOL_OPTIONS").contains(token), "Java prints this variable");
}

#[tokio::test]
async fn the_parent_s_roots_stay_trusted() {
    let scene = Scene::new().await;
    let own = scene.home().join("own.pem");
    std::fs::write(&own, pyxis_testkit::tls::Authority::new().pem()).unwrap();
    let mut command = scene.command(&[], &["sh", "-c", "cat \"$SSL_CERT_FILE\""]);
    command.env("SSL_CERT_FILE", &own);
    let ran = run(command).await.expect(0);
    let line = std::fs::read_to_string(&own).unwrap().lines().nth(2).unwrap().to_owned();
    assert!(ran.stdout.contains(&line), "{ran:?}");
    assert_eq!(ran.stdout.matches("BEGIN CERTIFICATE").count(), 2, "the parent's root and that of the run");
}

#[tokio::test]
async fn a_saved_login_replaces_url_and_variable_and_only_its_owner_can_read_it() {
    let scene = Scene::new().await;
    let url = format!("http://{}", scene.site.app.address());
    let login = |key: String| {
        let mut command = scene.site.app.command(&["login", "--url", &url]);
        command.env("HOME", scene.home()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        async move {
            let writing = move || {
                let mut child = command.spawn().unwrap();
                std::io::Write::write_all(&mut child.stdin.take().unwrap(), key.as_bytes()).unwrap();
                child.wait_with_output().unwrap()
            };
            tokio::task::spawn_blocking(writing).await.unwrap()
        }
    };
    let wrong = login("px_agent_wrong\n".to_owned()).await;
    assert!(!wrong.status.success(), "{wrong:?}");
    let file = scene.home().join(".config/pyxis/login.json");
    assert!(!file.exists(), "a key that the server refuses is not saved");

    let done = login(format!("{}\n", scene.key())).await;
    assert!(done.status.success(), "{done:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bare = |arguments: &[&str]| {
        let mut command = scene.site.app.command(arguments);
        command.env("HOME", scene.home()).env("PATH", search_path());
        run(command)
    };
    let target = scene.url("/");
    let ran = bare(&["run", "--", "curl", "-sSf", &target]).await.expect(0);
    assert_eq!(ran.stdout, "ok");
    let mut stale = scene.site.app.command(&["run", "--", "true"]);
    stale.env("HOME", scene.home()).env("PATH", search_path()).env("PX_AGENT_KEY", "px_agent_old");
    let stale = run(stale).await.expect(1);
    assert!(stale.stderr.contains("with the agent key of PX_AGENT_KEY"), "{stale:?}");
    let configuration = bare(&["connect", "claude-code"]).await.expect(0);
    assert!(configuration.stdout.contains(&format!("{url}/mcp")), "{configuration:?}");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = bare(&["run", "--", "true"]).await.expect(1);
    assert!(open.stderr.contains("chmod 600"), "{open:?}");
    bare(&["logout"]).await.expect(0);
    bare(&["logout"]).await.expect(3);
    let none = bare(&["run", "--", "true"]).await.expect(1);
    assert!(none.stderr.contains("pyxis login"), "{none:?}");
}
