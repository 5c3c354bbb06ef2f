//! `HttpClient` of Java, which asks the program itself for the user of a proxy.

use std::fs;

use serde_json::json;

use super::super::Scene;
use super::refuses_strangers;
use crate::support::Setup;

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

#[tokio::test]
async fn http_client_of_java_reaches_an_api_with_the_secret_attached() {
    let scene = Scene::with_name(Setup::new()).await;
    fs::write(scene.home().join("Fetch.java"), SOURCE).unwrap();
    let fetch = ["java", "Fetch.java", &format!("https://{}/things?x=1", scene.named_host())];
    let ran = scene.run(&["--others", "refuse"], &fetch).await.expect(0);
    assert_eq!(ran.stdout, "200 ok", "{ran:?}");
    assert_eq!(scene.only_request().target, "/things?x=1");
    assert_eq!(scene.site.forwards().await[0]["detail"]["door"], "run");
    refuses_strangers(&scene, &["java", "Fetch.java", "URL"]).await;
}

#[tokio::test]
async fn http_client_of_java_gets_the_explanation_of_a_refusal() {
    let scene = Scene::with_name(Setup::new()).await;
    scene.site.owner.set_policy("named", &json!({"deny_urls": ["/things"]})).await;
    fs::write(scene.home().join("Fetch.java"), SOURCE).unwrap();
    let fetch = ["java", "Fetch.java", &format!("https://{}/things", scene.named_host())];
    let ran = scene.run(&["--others", "refuse"], &fetch).await.expect(0);
    assert!(ran.stdout.starts_with("403 Pyxis: ") && ran.stdout.contains("denied_by_policy"), "{ran:?}");
    assert!(scene.site.upstream.requests().is_empty());
}
