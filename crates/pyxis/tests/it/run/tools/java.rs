//! `HttpClient` of Java, which asks the program itself for the user of a proxy.

use std::fs;

use super::super::Scene;
use super::refuses_strangers;

const SOURCE: &str = r#"
import java.net.*;
import java.net.http.*;

public class Fetch {
    public static void main(String[] arguments) throws Exception {
        String[] user = URI.create(System.getenv("HTTPS_PROXY")).getUserInfo().split(":");
        Authenticator authenticator = new Authenticator() {
            @Override protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication(user[0], user[1].toCharArray());
            }
        };
        HttpClient client = HttpClient.newBuilder().proxy(ProxySelector.getDefault())
            .authenticator(authenticator).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        System.out.print(response.statusCode() + " " + response.body());
    }
}
"#;

/// Java never sends a request for a loopback address through a proxy, and no name leads to the upstream; so Pyxis answers
/// itself.
#[tokio::test]
async fn http_client_of_java_trusts_the_proxy_and_gets_the_answer_of_pyxis() {
    let scene = Scene::new().await;
    scene.answers_itself("api.example.invalid", "/things").await;
    fs::write(scene.home().join("Fetch.java"), SOURCE).unwrap();
    let fetch = ["java", "Fetch.java", "https://api.example.invalid/things"];
    let ran = scene.run(&["--others", "refuse"], &fetch).await.expect(0);
    assert!(ran.stdout.starts_with("403 Pyxis: ") && ran.stdout.contains("denied_by_policy"), "{ran:?}");
    refuses_strangers(&scene, &["java", "Fetch.java", "URL"]).await;
}
