//! Every page of a filled installation, on loopback: `cargo run -p pyxis-dashboard --example preview`.
#![expect(clippy::print_stdout, reason = "tells the person where to look")]
#![expect(clippy::unwrap_used, reason = "a preview that cannot be filled should say so at once")]

#[expect(dead_code, reason = "the tests of the pages use all of it")]
#[path = "../../tests/it/support.rs"]
mod support;
#[expect(dead_code, reason = "the tests of the pages use all of it")]
mod tour;

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use pyxis_dashboard::assets::CONTENT_SECURITY_POLICY;
use tour::Tour;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new()
        .route("/", get(list))
        .route("/preview/{number}", get(captured_page))
        .fallback(live)
        .with_state(Arc::new(Tour::new("").await));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 8799))).await?;
    println!("http://{}/", listener.local_addr()?);
    axum::serve(listener, app).await
}

/// Links to all pages, also to those that only a form leads to.
async fn list(State(tour): State<Arc<Tour>>) -> Html<String> {
    let mut html = "<!doctype html><title>Pages</title><ol start=\"0\">".to_owned();
    for (number, shown) in tour.pages.iter().enumerate() {
        let place = shown.place.replace('<', "&lt;");
        write!(html, "<li><a href=\"/preview/{number}\">{place}</a>").unwrap();
    }
    Html(html)
}

async fn captured_page(State(tour): State<Arc<Tour>>, Path(number): Path<usize>) -> Response {
    let page = tour.pages.get(number).map(|shown| Html(shown.html.clone()));
    ([(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)], page.ok_or("There are fewer pages."))
        .into_response()
}

/// The page as the owner sees it now. Forms are not sent.
async fn live(State(tour): State<Arc<Tour>>, uri: Uri) -> Response {
    let path = uri.path_and_query().map_or(uri.path(), |asked| asked.as_str());
    tour.owner.clone().open(path).await
}
