use std::path::Path;
use std::process::{Child, Command, Stdio};

use pyxis_testkit::tls::Authority;
use serde_json::Value;

use super::{Messages, whole_trail_arrives};
use crate::support::{Setup, Site, until};

/// An rsyslog that writes messages to a file; ends with this value.
struct Rsyslog(Child);

impl Drop for Rsyslog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Rsyslog {
    /// Listens on `port`, or on a free one for 0.
    async fn start(directory: &Path, port: u16) -> (Self, u16) {
        let config = format!(
            r#"global(workDirectory="{d}" DefaultNetstreamDriverCAFile="{d}/ca.pem"
                DefaultNetstreamDriverCertFile="{d}/cert.pem" DefaultNetstreamDriverKeyFile="{d}/key.pem")
            module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="anon")
            template(name="raw" type="string" string="%rawmsg%\n")
            input(type="imtcp" address="127.0.0.1" port="{port}" listenPortFileName="{d}/port")
            action(type="omfile" file="{d}/messages" template="raw" asyncWriting="off" flushOnTXEnd="on")
            "#,
            d = directory.display()
        );
        std::fs::write(directory.join("rsyslog.conf"), config).unwrap();
        let _ = std::fs::remove_file(directory.join("port"));
        let _ = std::fs::remove_file(directory.join("pid"));
        let server = Command::new("rsyslogd")
            .args(["-n", "-f", "rsyslog.conf", "-i"])
            .arg(directory.join("pid"))
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("rsyslog is installed");
        let server = Self(server);
        if port != 0 {
            return (server, port);
        }
        let port = until("the port of rsyslog", async || {
            std::fs::read_to_string(directory.join("port")).ok()?.trim().parse().ok()
        });
        (server, port.await)
    }
}

/// A line that rsyslog wrote: number, MAC and body.
fn message(line: &str) -> Option<(i64, String, Value)> {
    let (head, body) = line.split_once("] ")?;
    assert!(head.starts_with("<110>1 20") && head.contains(" pyxis - "), "{line}");
    let parameter = |name: &str| {
        let (_, after) = head.split_once(&format!(" {name}=\""))?;
        after.split('"').next().map(str::to_owned)
    };
    Some((parameter("seq")?.parse().ok()?, parameter("mac")?, serde_json::from_str(body).ok()?))
}

fn messages(directory: &Path) -> Messages {
    let text = std::fs::read_to_string(directory.join("messages")).unwrap_or_default();
    text.lines().filter(|line| line.contains("pyxis@32473")).filter_map(message).collect()
}

#[tokio::test]
async fn rsyslog_gets_the_trail_over_tls_despite_crashes_of_either_side() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let directory = directory.path();
    let (certificate, key) = authority.server_pem(&["localhost"]);
    for (name, text) in [("ca.pem", authority.pem()), ("cert.pem", certificate), ("key.pem", key)] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let (rsyslog, port) = Rsyslog::start(directory, 0).await;
    let roots = directory.join("ca.pem");
    let setup = Setup::new()
        .env("PX_AUDIT_PUSH", &format!("syslog+tls://localhost:{port}"))
        .env("PX_EGRESS_CA_FILE", roots.to_str().unwrap());
    let mut site = Site::with(setup).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(directory)).await;

    drop(rsyslog);
    // Requests do not wait for the receiver.
    site.forward("GET", "/two").send().await.forwarded(200);
    site.app.kill().await;
    site.app.serve();
    site.forward("GET", "/three").send().await.forwarded(200);
    let (_rsyslog, _) = Rsyslog::start(directory, port).await;
    whole_trail_arrives(&site, async || messages(directory)).await;
}
