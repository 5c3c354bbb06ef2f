//! A person's browser: cookies, and forms with the token of their page.

use super::parties::PASSWORD;
use super::{Client, HttpResponse};

/// A person signed in on the pages.
pub(crate) struct Browser {
    client: Client,
    csrf: String,
}

fn cookie(answer: &HttpResponse, name: &str) -> String {
    let lines = answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    let mut pairs = lines.map(|line| line.split(';').next().unwrap());
    pairs
        .find(|pair| pair.starts_with(name))
        .unwrap_or_else(|| panic!("no cookie {name}: {answer:?}"))
        .to_owned()
}

fn csrf(page: &HttpResponse) -> String {
    let text = page.text();
    let (_, rest) = text.split_once("name=\"csrf\" value=\"").expect("a form");
    rest.split('"').next().unwrap().to_owned()
}

async fn submit(client: &Client, path: &str, csrf: &str, fields: &[(&str, &str)]) -> HttpResponse {
    let mut form = format!("csrf={csrf}");
    for (name, value) in fields {
        form.extend(["&", name, "=", &value.replace(' ', "+").replace('@', "%40")]);
    }
    let call = client.call("POST", path).header("sec-fetch-site", "same-origin");
    call.header("content-type", "application/x-www-form-urlencoded").body(form).send().await
}

impl Browser {
    /// Signs in with the password that all tests use.
    pub(crate) async fn sign_in(anonymous: &Client, email: &str) -> Self {
        Self::submit_credentials(anonymous, "/sign-in", &[("email", email), ("password", PASSWORD)]).await
    }

    /// Opens the one-time link at this path and sets the password that all tests use.
    pub(crate) async fn use_link(anonymous: &Client, link: &str) -> Self {
        Self::submit_credentials(anonymous, link, &[("password", PASSWORD), ("password_again", PASSWORD)])
            .await
    }

    async fn submit_credentials(anonymous: &Client, path: &str, fields: &[(&str, &str)]) -> Self {
        let page = anonymous.get(path).send().await.expect(200);
        let visitor = anonymous.clone().with("cookie", &cookie(&page, "px_visit"));
        let answer = submit(&visitor, path, &csrf(&page), fields).await.expect(303);
        let client = anonymous.clone().with("cookie", &cookie(&answer, "px_session"));
        let page = client.get("/app/inbox").send().await.expect(200);
        Self { client, csrf: csrf(&page) }
    }

    pub(crate) async fn get(&self, path: &str) -> HttpResponse {
        self.client.get(path).send().await
    }

    /// Sends a form.
    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        submit(&self.client, path, &self.csrf, fields).await
    }
}
