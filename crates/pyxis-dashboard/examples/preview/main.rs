//! Every page with sample data, on loopback: `cargo run -p pyxis-dashboard --example preview`.

mod sample;

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::Path;
use axum::http::{Uri, header};
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_dashboard::assets::{self, CONTENT_SECURITY_POLICY};
use pyxis_scoring::icon;
use sample::Sample;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new()
        .route(assets::ROUTE, get(|Path(file): Path<String>| async move { assets::serve(&file) }))
        .route("/assets/stamps/{file}", get(|Path(file): Path<String>| async move { icon::serve(&file) }))
        .route("/app/events", get(events))
        .fallback(page);
    let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 8799))).await?;
    #[expect(clippy::print_stdout, reason = "tells the person where to look")]
    {
        println!("http://{}/app/inbox", listener.local_addr()?);
    }
    axum::serve(listener, app).await
}

/// The page at this path; any other path lists all of them as plain text.
async fn page(uri: Uri) -> Response {
    let pages = Sample { hostile: "", now: SystemClock.now() }.all();
    let csp = [(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)];
    let asked = uri.path_and_query().map_or(uri.path(), |asked| asked.as_str());
    match pages.iter().find(|(path, _)| *path == asked) {
        Some((_, html)) => (csp, Html(html.clone())).into_response(),
        None => pages.iter().map(|(path, _)| *path).collect::<Vec<_>>().join("\n").into_response(),
    }
}

/// A stream that never sends anything: the samples do not change.
async fn events() -> impl IntoResponse {
    Sse::new(futures_util::stream::pending::<Result<Event, std::convert::Infallible>>())
}
