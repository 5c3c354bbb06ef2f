//! HTTP clients of Python, in the environment that `PX_TEST_PYTHON_TOOLS` names (`ci/python-tools.sh`).

use pyxis_testkit::upstream::Reply;
use serde_json::json;

use super::super::Scene;
use super::{fetched, refuses_strangers};
use crate::gateway::sigv4::verifier;
use crate::support::languages::python;
use crate::support::leaks;

#[tokio::test]
async fn requests_reaches_an_api_with_the_secret_attached() {
    let code = "import sys, requests as r; a = r.get(sys.argv[1]); a.raise_for_status(); print(a.text)";
    fetched(&[&python(), "-c", code, "URL"]).await;
}

#[tokio::test]
async fn httpx_reaches_an_api_with_the_secret_attached() {
    let code = "import sys, httpx; print(httpx.get(sys.argv[1]).raise_for_status().text)";
    fetched(&[&python(), "-c", code, "URL"]).await;
}

#[tokio::test]
async fn aiohttp_reaches_an_api_with_the_secret_attached() {
    let code = r"
import aiohttp, asyncio, sys
async def main():
    async with aiohttp.ClientSession(trust_env=True, raise_for_status=True) as session:
        async with session.get(sys.argv[1]) as answer:
            print(await answer.text())
asyncio.run(main())";
    fetched(&[&python(), "-c", code, "URL"]).await;
}

/// Lists the buckets of S3 at a URL, with the options of `boto3.client`.
const LIST_BUCKETS: &str = r"
import boto3, botocore.config, sys
config = botocore.config.Config(retries={'total_max_attempts': 1})
s3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='eu-west-1', config=config,
                  aws_access_key_id='px_placeholder_id', aws_secret_access_key='px_placeholder_key')
print([bucket['Name'] for bucket in s3.list_buckets()['Buckets']])";

fn buckets() -> Reply {
    let list = "<ListAllMyBucketsResult><Buckets><Bucket><Name>made-up</Name></Bucket></Buckets>\
                </ListAllMyBucketsResult>";
    Reply::ok(list).header("content-type", "application/xml")
}

/// The SDK signs with the placeholders that it finds; the server replaces its signature.
#[tokio::test]
async fn boto3_reaches_an_api_with_the_secret_attached() {
    let scene = Scene::new().await;
    scene.site.upstream.reply(buckets());
    let python = python();
    let url = scene.url("/");
    let ran = scene.run(&["--others", "refuse"], &[&python, "-c", LIST_BUCKETS, &url]).await.expect(0);
    assert_eq!(ran.stdout, "['made-up']\n", "{ran:?}");
    scene.only_request();
    refuses_strangers(&scene, &[&python, "-c", LIST_BUCKETS, "URL"]).await;
}

/// The SDK's region and keys are made up; the request arrives signed for those of the credential.
#[tokio::test]
async fn boto3_gets_its_requests_signed_again_with_the_stored_keys() {
    let scene = Scene::new().await;
    let auth = json!({"kind": "aws_sigv4", "region": verifier::REGION, "service": "s3"});
    let keys = json!({
        "access_key_id": verifier::ACCESS_KEY_ID, "secret_access_key": verifier::SECRET_ACCESS_KEY,
    });
    scene.credential("aws", &json!({"auth": auth, "secret": keys})).await;
    scene.site.upstream.reply_with(|request| match verifier::verify(request, "s3") {
        Ok(()) => buckets(),
        Err(reason) => Reply::new(403).body(reason),
    });
    let (python, url) = (python(), scene.url("/"));
    let host = format!("{}=aws", scene.site.upstream.addr());
    let options = ["--others", "refuse", "--use", &host];
    let ran = scene.run(&options, &[&python, "-c", LIST_BUCKETS, &url]).await.expect(0);
    assert_eq!(ran.stdout, "['made-up']\n", "{ran:?}");
    let [request] = scene.site.upstream.requests().try_into().unwrap();
    assert!(!format!("{:?}", request.headers).contains("placeholder"), "{request:?}");
    leaks::search_text_files(scene.home(), verifier::SECRET_ACCESS_KEY);
}

/// Writes a wheel with the module `thing`.
const WHEEL: &str = r"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('thing.py', 'print(\'from the upstream\')')
    about = 'thing-1.0.dist-info/'
    wheel.writestr(about + 'METADATA', 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n')
    wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    names = ['thing.py', about + 'METADATA', about + 'WHEEL', about + 'RECORD']
    wheel.writestr(about + 'RECORD', ''.join(name + ',,\n' for name in names))";

#[tokio::test]
async fn pip_installs_from_an_index_with_the_secret_attached() {
    const FILE: &str = "thing-1.0-py3-none-any.whl";
    let scene = Scene::new().await;
    let python = python();
    let wheel = scene.home().join(FILE);
    let made = std::process::Command::new(&python).args(["-c", WHEEL]).arg(&wheel).status().unwrap();
    assert!(made.success());
    let wheel = std::fs::read(wheel).unwrap();
    scene.site.upstream.reply_with(move |request| match request.target.as_str() {
        "/simple/thing/" => {
            Reply::ok(format!("<a href=\"/files/{FILE}\">{FILE}</a>")).header("content-type", "text/html")
        }
        target if target.ends_with(FILE) => Reply::ok(wheel.clone()),
        _ => Reply::new(404),
    });
    let install = |index: &str| {
        let options =
            "-m pip install --quiet --disable-pip-version-check --no-cache-dir --retries 0 --target here";
        let command: Vec<String> = std::iter::once(python.clone())
            .chain(options.split(' ').map(str::to_owned))
            .chain(["--index-url".to_owned(), index.to_owned(), "thing".to_owned()])
            .collect();
        command
    };
    let command = install(&scene.url("/simple/"));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    scene.run(&["--others", "refuse"], &command).await.expect(0);
    let ran = scene.run(&[], &[&python, "here/thing.py"]).await.expect(0);
    assert_eq!(ran.stdout, "from the upstream\n");
    scene.all_requests_had_the_secret(2);
    let strange = install("URL");
    refuses_strangers(&scene, &strange.iter().map(String::as_str).collect::<Vec<_>>()).await;
}
