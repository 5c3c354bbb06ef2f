//! Score jobs and populations as pages.

use axum::body::Body;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::{Method, StatusCode};
use pyxis_scoring::jobs::{self, JobEnd};
use pyxis_scoring::service::score_jobs;
use pyxis_testkit::engines;
use tokio::sync::watch;

use super::with_scorer;
use crate::support::{Browser, HOLDER, ORIGIN_URL, Page, Server};

const BOUNDARY: &str = "----px-test";

/// Sends the upload form as a browser does.
async fn upload(browser: &mut Browser, fields: &[(&str, &str)], file: &str) -> Page {
    let part = |(name, value): &(&str, &str)| {
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let fields: Vec<String> = fields.iter().map(part).collect();
    let file = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"friends.csv\"\r\n\
         Content-Type: text/csv\r\n\r\n{file}\r\n--{BOUNDARY}--\r\n"
    );
    let body = fields.concat() + &file;
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let headers = [(ORIGIN.as_str(), ORIGIN_URL), (CONTENT_TYPE.as_str(), kind.as_str())];
    browser.send(Method::POST, "/app/score-jobs", &headers, Body::from(body)).await
}

engines! {
    async fn a_job_shows_its_progress_and_is_canceled_and_run_again_on_its_page(server: Server) {
        let (_, mut browser, scorer) = with_scorer(&server).await;
        let csrf = browser.get("/app/score-jobs").await.csrf();
        let id = scorer.id.to_string();
        let fields = [("csrf", csrf.as_str()), ("scorer", id.as_str()), ("name", "Spring drop")];
        let added = upload(&mut browser, &fields, &format!("{HOLDER}\n{HOLDER_TEXT}\n")).await;
        let page = added.location().to_owned();
        let shown = browser.get(&page).await.text;
        assert!(shown.contains("of 2, 0 %") && shown.contains("continues in the background"), "{shown}");
        assert!(!shown.contains("/retry") && !shown.contains("/remove"), "{shown}");
        let sent = browser.submit(&page, &format!("{page}/cancel"), &[]).await;
        assert_eq!(sent.location(), page);
        let shown = browser.get(&page).await.text;
        assert!(shown.contains("/retry") && !shown.contains("continues in the background"), "{shown}");
        browser.submit(&page, &format!("{page}/retry"), &[]).await;
        assert!(browser.get(&page).await.text.contains("continues in the background"));
        let (_running, mut stop) = watch::channel(false);
        assert_eq!(jobs::run_one(&server.scoring, None, &mut stop).await.unwrap(), Some(JobEnd::Done));
        let shown = browser.get(&page).await.text;
        assert!(shown.contains("of 2, 100 %") && !shown.contains("/retry"), "{shown}");
    }

    async fn a_file_becomes_a_job_whose_results_are_downloaded(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let csrf = browser.get("/app/score-jobs").await.csrf();
        let id = scorer.id.to_string();
        let fields = [("csrf", csrf.as_str()), ("scorer", id.as_str()), ("name", "")];
        // More than other forms may have.
        let note = "x".repeat(900 << 10);
        let file = format!("{HOLDER},{note}\n0xnobody,{note}\n");
        let added = upload(&mut browser, &fields, &file).await;
        assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.text);
        let page = added.location().to_owned();
        let (_running, mut stop) = watch::channel(false);
        let ended = jobs::run_one(&server.scoring, None, &mut stop).await.unwrap();
        assert_eq!(ended, Some(JobEnd::Done));
        let shown = browser.get(&page).await.text;
        assert!(shown.contains("friends.csv") && shown.contains("of 2, 100 %"), "{shown}");
        assert!(!shown.contains("/retry"), "no failed row has an address");
        let csv = browser.get(&format!("{page}/export?format=csv")).await.text;
        assert!(csv.contains(&format!("1,{HOLDER},scored,")) && csv.contains("2,0xnobody,invalid,"), "{csv}");
        let failed = browser.get(&format!("{page}/export?rows=failed")).await.text;
        assert_eq!(failed.lines().count(), 2);
        let population = browser.get(&format!("/app/scorers/{id}/population")).await.text;
        assert!(population.contains("Pass rate by day"));
        browser.submit("/app/score-jobs", &format!("{page}/remove"), &[]).await;
        assert_eq!(browser.get(&page).await.status, StatusCode::NOT_FOUND);
        for (fields, file) in [
            (fields, ""),
            (fields, "PAR1 is no list"),
            ([fields[0], fields[1], ("name", "a\u{7}b")], "0x12"),
        ] {
            let refused = upload(&mut browser, &fields, file).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{file}");
            assert!(refused.text.contains("class=\"problem\""));
        }
        let stale = upload(&mut browser, &[("csrf", "x"), fields[1], fields[2]], HOLDER_TEXT).await;
        assert_eq!(stale.status, StatusCode::FORBIDDEN);
        let unknown = upload(&mut browser, &[fields[0], ("scorer", "999"), fields[2]], HOLDER_TEXT).await;
        assert_eq!(unknown.status, StatusCode::NOT_FOUND);
        assert_eq!(score_jobs::list(&server.scoring.store, team.id, None, 9).await.unwrap().len(), 0);
    }
}

const HOLDER_TEXT: &str = "0x1111111111111111111111111111111111111111";
