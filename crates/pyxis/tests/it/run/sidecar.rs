//! `pyxis proxy`: clients that it did not start, with nothing but the directory that they share with it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::Scene;
use super::scene::{Running, SECRET, search_path};
use crate::support::app::{Ran, run};
use crate::support::client::{Address, Client};

/// A proxy that runs until it is stopped, with its data directory and the directory of its clients.
struct Sidecar {
    child: Child,
    greeting: Value,
}

fn data(scene: &Scene) -> PathBuf {
    scene.home().join("sidecar")
}

fn shared(scene: &Scene) -> PathBuf {
    scene.home().join("shared")
}

/// `pyxis proxy`, whose key is in a file as a container's secrets are.
fn command(scene: &Scene, listen: &str, options: &[&str]) -> Command {
    let key = scene.home().join("agent-key");
    std::fs::write(&key, format!("{}\n", scene.key())).unwrap();
    let mut command = scene.site.app.command(&[&["proxy", "--json"], options].concat());
    command
        .env("PX_DATA_DIR", data(scene))
        .env("PX_URL", format!("http://{}", scene.site.app.address()))
        .env("PX_AGENT_KEY_FILE", key)
        .env("PX_PROXY_LISTEN", listen)
        .env("PX_PROXY_CLIENT_DIR", shared(scene));
    command
}

impl Sidecar {
    fn start(scene: &Scene, listen: &str) -> Self {
        let mut command = command(scene, listen, &["--others", "refuse"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { greeting: serde_json::from_str(&line).unwrap(), child }
    }

    fn address(&self) -> &str {
        self.greeting["address"].as_str().unwrap()
    }

    /// A client that sends nothing but what is asked.
    fn client(&self) -> Client {
        Client::new(Address::new(self.address().parse().unwrap()))
    }

    /// Ends it as a container's runtime does.
    fn stop(mut self) {
        pyxis_testkit::signal::send("TERM", &self.child);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client in an empty environment, which reads the script and then does this.
fn client(scene: &Scene, script: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!(". '{}' && {script}", shared(scene).join("env.sh").display());
    command.arg("-c").arg(script).env_clear().env("PATH", search_path()).current_dir(scene.home());
    command
}

async fn fetched(scene: &Scene, script: &str) -> Ran {
    run(client(scene, script)).await
}

const PYTHON: &str = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())";

#[tokio::test]
async fn clients_need_only_the_shared_directory_and_it_holds_no_key() {
    let scene = Scene::new().await;
    let sidecar = Sidecar::start(&scene, "127.0.0.1:0");
    assert_eq!(sidecar.greeting["agent"], "default-agent");
    let url = scene.url("/things");
    for script in [format!("curl -sSf {url}"), format!("python3 -c '{PYTHON}' {url}")] {
        assert_eq!(fetched(&scene, &script).await.expect(0).stdout.trim(), "ok");
    }
    let request = &scene.site.upstream.requests()[0];
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert!(scene.site.forwards().await.iter().all(|record| record["detail"]["door"] == "run"));

    let stranger = fetched(&scene, "curl -sS https://stranger.example/").await;
    assert_ne!(stranger.code, Some(0), "{stranger:?}");
    let bare = fetched(&scene, &format!("curl -sS --proxy http://{} {url}", sidecar.address())).await;
    assert!(bare.stderr.contains("407"), "{bare:?}");

    for entry in std::fs::read_dir(shared(&scene)).unwrap() {
        let path = entry.unwrap().path();
        let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for hidden in [scene.key(), SECRET, "PRIVATE KEY", "PX_"] {
            assert!(!content.contains(hidden), "{hidden} in {}", path.display());
        }
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o644,
            "{}",
            path.display()
        );
    }
    let kept = data(&scene).join("proxy.json");
    assert_eq!(std::fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Fetches the URL for each line of its input, with the certificates that it read at its start.
const STAYING: &str = r"
import sys, urllib.request as r
opener = r.build_opener(r.HTTPSHandler(context=__import__('ssl').create_default_context()), r.ProxyHandler())
for line in sys.stdin:
    print(opener.open(sys.argv[1]).read().decode(), flush=True)
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_was_running_goes_on_after_a_restart_of_the_proxy() {
    let scene = Scene::new().await;
    let sidecar = Sidecar::start(&scene, "127.0.0.1:0");
    let address = sidecar.address().to_owned();
    std::fs::write(scene.home().join("staying.py"), STAYING).unwrap();
    let mut command = client(&scene, &format!("exec python3 staying.py {}", scene.url("/")));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut fetch = || {
        writeln!(input, "again").unwrap();
        output.next().unwrap().unwrap()
    };
    assert_eq!(fetch(), "ok");
    sidecar.stop();
    let again = Sidecar::start(&scene, &address);
    assert_eq!(fetch(), "ok");
    drop(input);
    child.wait().unwrap();
    drop(again);
}

#[tokio::test]
async fn what_clients_could_not_use_is_refused_at_the_start() {
    let scene = Scene::new().await;
    let refused = async |mut command: Command, name: &str, value: &str, words: &str| {
        if value.is_empty() {
            command.env_remove(name);
        } else {
            command.env(name, value);
        }
        let ran = run(command).await.expect(1);
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    };
    let on = |listen: &str| command(&scene, listen, &[]);
    refused(on("0.0.0.0:0"), "PX_PROXY_ADDRESS", "", "set PX_PROXY_ADDRESS").await;
    refused(on("0.0.0.0:0"), "PX_PROXY_ADDRESS", "pyxis-proxy", "a host and a port").await;
    refused(on("127.0.0.1:0"), "PX_PROXY_CLIENT_DIR", "", "set PX_PROXY_CLIENT_DIR").await;
    refused(on("everywhere"), "PX_LOG", "warn", "PX_PROXY_LISTEN").await;
    refused(on("127.0.0.1:0"), "PX_AGENT_KEY_FILE", "/nowhere/key", "PX_AGENT_KEY_FILE").await;
    refused(on("127.0.0.1:0"), "PX_AGENT_KEY", "px_agent_wrong", "401").await;
}

#[tokio::test]
async fn clients_are_told_the_address_by_which_they_reach_the_proxy() {
    let scene = Scene::new().await;
    let mut command = command(&scene, "0.0.0.0:0", &["--address", "pyxis-proxy:8702"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ran = fetched(&scene, "echo \"$HTTPS_PROXY $JAVA_TOOL_OPTIONS\"").await.expect(0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ran.stdout.contains(":x@pyxis-proxy:8702 "), "{ran:?}");
    assert!(ran.stdout.contains("-Dhttps.proxyHost=pyxis-proxy -Dhttps.proxyPort=8702 "), "{ran:?}");
}

/// The proxy's URL, which an operator gives to a container as one variable.
async fn proxy_url(scene: &Scene) -> String {
    fetched(scene, "echo $HTTPS_PROXY").await.expect(0).stdout.trim().to_owned()
}

#[tokio::test]
async fn a_client_without_the_directory_fetches_the_certificate_from_the_proxy_itself() {
    let scene = Scene::new().await;
    let sidecar = Sidecar::start(&scene, "127.0.0.1:0");
    let (url, proxy) = (scene.url("/things"), proxy_url(&scene).await);
    let own = format!("http://{}/ca.pem", sidecar.address());
    for fetch in
        [format!("curl -sSf {own}"), format!("curl -sSf --proxy {proxy} --noproxy none.example {own}")]
    {
        let script = format!("{fetch} > fetched.pem && curl -sSf --proxy {proxy} --cacert fetched.pem {url}");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).env_clear().env("PATH", search_path()).current_dir(scene.home());
        assert_eq!(run(command).await.expect(0).stdout, "ok");
    }
    scene.all_requests_had_the_secret(2);
    let fetched = sidecar.client().get("/ca.pem").send().await.expect(200);
    assert_eq!(fetched.header("content-type"), Some("application/x-pem-file"));
    assert_eq!(fetched.text(), std::fs::read_to_string(shared(&scene).join("ca.pem")).unwrap());
}

#[tokio::test]
async fn the_proxy_itself_serves_nothing_else() {
    let scene = Scene::new().await;
    let sidecar = Sidecar::start(&scene, "127.0.0.1:0");
    let client = sidecar.client();
    assert_eq!(client.get("/healthz").send().await.expect(200).json(), serde_json::json!({"status": "ok"}));
    for path in [
        "/",
        "/env.sh",
        "/bundle.pem",
        "/ca.pem/",
        "/ca.pem/..%2fenv.sh",
        "/proxy.json",
        "/forward",
        "/readyz",
    ] {
        let answer = client.get(path).send().await.expect(404);
        assert_eq!(answer.header("px-error"), Some("not_found"), "{path}");
        let text = answer.text();
        assert!(
            text.starts_with("Pyxis: this is a proxy. Its own pages are /ca.pem and /healthz;"),
            "{path}: {text}"
        );
    }
    let answer = client.post("/ca.pem", &serde_json::json!({})).send().await.expect(405);
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    // The proxy of a run has no such pages: it knows whom it serves.
    let mut running = Running::start(scene.command(&[], Running::SCRIPT));
    let own = Client::new(Address::new(running.address.parse().unwrap()));
    for path in ["/ca.pem", "/healthz"] {
        own.get(path).send().await.expect(407);
    }
    running.signal("TERM");
    assert!(scene.site.upstream.requests().is_empty());
}

#[tokio::test]
async fn healthcheck_follows_the_proxy() {
    let scene = Scene::new().await;
    let check = async |options: &[&str], listen: &str| {
        let mut command = scene.site.app.command(&[&["healthcheck"], options].concat());
        command.env("PX_PROXY_LISTEN", listen);
        run(command).await
    };
    let sidecar = Sidecar::start(&scene, "127.0.0.1:0");
    let (address, url) = (sidecar.address().to_owned(), format!("http://{}", sidecar.address()));
    for ready in [
        check(&["--proxy"], &address).await,
        check(&["--proxy", "--url", &url], "127.0.0.1:1").await,
        check(&["--proxy", "--url", &format!("{url}/healthz")], "127.0.0.1:1").await,
    ] {
        assert_eq!(ready.expect(0).stdout, "ready\n");
    }
    let unasked = check(&["--url", &url], &address).await.expect(1);
    assert!(unasked.stdout.ends_with("; for `pyxis proxy`, add --proxy\n"), "{unasked:?}");
    sidecar.stop();
    let gone = check(&["--proxy"], &address).await.expect(1);
    assert!(gone.stdout.starts_with("not ready: http://"), "{gone:?}");
}
