use super::*;

const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
const JSON: Option<&str> = Some("application/json; charset=utf-8");
const PARTS: Option<&str> = Some("multipart/form-data; boundary=x");

/// Verdict under a policy that passes GET, POST and PATCH, asks about PUT and denies DELETE.
fn verdict(method: Method, query: Option<&str>, content_type: Option<&str>, body: &str) -> PolicyVerdict {
    let verdicts = |method| match method {
        Method::Delete => PolicyVerdict::Deny,
        Method::Put => PolicyVerdict::RequireApproval,
        _ => PolicyVerdict::AutoApprove,
    };
    let content = RequestContent { content_type, is_encoded: false, query, body: body.as_bytes() };
    finding(verdicts, method, &content).map_or(PolicyVerdict::AutoApprove, |finding| finding.verdict)
}

#[test]
fn a_request_is_also_judged_as_the_method_that_its_form_or_its_json_names() {
    for (content_type, body, expected) in [
        (FORM, "_method=delete&a=1", PolicyVerdict::Deny),
        (FORM, "%5Fmethod=%44ELETE", PolicyVerdict::Deny),
        (FORM, "a=1&_method=PUT", PolicyVerdict::RequireApproval),
        (FORM, "_method=patch", PolicyVerdict::AutoApprove),
        (FORM, "_method=post", PolicyVerdict::AutoApprove),
        (FORM, "_method=PATCH&_method=DELETE", PolicyVerdict::Deny),
        (FORM, "_Method=DELETE", PolicyVerdict::Deny),
        (FORM, "X-HTTP-Method-Override=DELETE", PolicyVerdict::Deny),
        (FORM, "payment_method=card&method=DELETE", PolicyVerdict::AutoApprove),
        (None, "_method=DELETE", PolicyVerdict::Deny),
        (None, r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (JSON, r#"{"a":{"_method":"DELETE"},"b":[1,"_method"]}"#, PolicyVerdict::AutoApprove),
        (JSON, r#"{"a":1,"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (JSON, r#"{"\u005fmethod":"put"}"#, PolicyVerdict::RequireApproval),
        (JSON, r#"{"a":1}"#, PolicyVerdict::AutoApprove),
        (JSON, "{\"a\":1}\n{\"b\":2}", PolicyVerdict::AutoApprove),
        (Some("application/x-www-form-urlencoded,x"), "_method=DELETE", PolicyVerdict::Deny),
        (Some("application/x-www-form-urlencoded x"), "_method=DELETE", PolicyVerdict::Deny),
        (Some("application/x-www-form-urlencoded; charset=ibm037"), "%6D=1", PolicyVerdict::Deny),
        (Some("application/x-www-form-urlencoded; charset=\"UTF-8\""), "a=1", PolicyVerdict::AutoApprove),
        (Some("application/vnd.api+json"), r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (Some("application/json, x"), r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (Some("application/json2"), r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (Some("text/plain;/json"), r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (Some("application/x+json-seq"), r#"{"_method":"DELETE"}"#, PolicyVerdict::Deny),
        (Some("text/plain"), "_method=DELETE", PolicyVerdict::AutoApprove),
        (Some("application/octet-stream"), "_method=DELETE", PolicyVerdict::AutoApprove),
    ] {
        assert_eq!(verdict(Method::Post, None, content_type, body), expected, "{content_type:?} {body}");
    }
}

#[test]
fn a_method_that_is_not_certain_counts_as_the_strictest() {
    for (content_type, body) in [
        (FORM, "_method[]=patch"),
        (FORM, ".method=patch"),
        (FORM, "_method=LINK"),
        (FORM, "_method=patch%00"),
        (JSON, r#"{"_method":["patch"]}"#),
        (JSON, r#"{"_method":"patch"} x"#),
    ] {
        assert_eq!(verdict(Method::Post, None, content_type, body), PolicyVerdict::Deny, "{body}");
    }
    let verdicts = |method| match method {
        Method::Post => PolicyVerdict::AutoApprove,
        _ => PolicyVerdict::RequireApproval,
    };
    let hidden = RequestContent { content_type: JSON, is_encoded: true, query: None, body: b"x" };
    let found = finding(verdicts, Method::Post, &hidden).unwrap();
    assert_eq!(found.verdict, PolicyVerdict::RequireApproval);
}

#[test]
fn a_part_of_a_multipart_form_counts_by_its_name_in_any_spelling() {
    let part = |disposition: &str| {
        format!(
            "--x\r\n{disposition}\r\n\r\nPATCH\r\n--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--"
        )
    };
    for disposition in [
        "Content-Disposition: form-data; name=\"_method\"",
        "content-disposition: form-data;name=_method",
        "CONTENT-DISPOSITION: form-data; filename=\"a\"; name=\"_method\"",
        "Content-Disposition: form-data;\r\n name=\"_method\"",
        "Content-Disposition: form-data; name*=UTF-8''%5Fmethod",
        "Content-Disposition: form-data; name=\"%5Fmethod\"",
        "Content-Disposition: form-data; name=\"_me\\thod\"",
        "X: Content-Disposition: form-data; name=\"_method\"",
        "Content-ID: <_method>",
        "Content-Disposition: name=\"_method\"",
        "Content-Disposition: form-data; name*0=\"_met\"; name*1=\"hod\"",
        "Content-Disposition: form-data; name*0*=UTF-8''%5Fmethod",
        "Content-Disposition: form-data; name=\"=?UTF-8?B?X21ldGhvZA==?=\"",
        "Content-Disposition: form-data; x-name=\"_method\"",
        "Content-Disposition: form-data name=\"_method\"",
        "Content-Disposition: form-data; name=\"_method\" x",
        "Content-Disposition: form-data; name=\"a\"; name=\"_method\"",
        "Content-Disposition: form-data; name=\"a\"; filename=\"b\\\"; name=_method",
        "Content-Disposition: form-data; name (x)=\"_method\"",
        "Content-Disposition: attachment; name = \"_method\"",
    ] {
        assert_eq!(
            verdict(Method::Post, None, PARTS, &part(disposition)),
            PolicyVerdict::Deny,
            "{disposition}"
        );
    }
    for disposition in [
        "Content-Disposition: form-data; name=\"payment_method\"",
        "Content-Disposition: form-data; name=\"file\"; filename=\"_method\"",
        "Content-Disposition: form-data; name=file; filename=a; filename*=utf-8''b%20c",
        "Content-Disposition: form-data; name=\"items[0]\"; filename=\"my name; (1).txt\"",
        "content-disposition:form-data;\r\n name=\"größe\"",
        "Content-Disposition: attachment; filename=\"=?UTF-8?B?X21ldGhvZA==?=\"",
    ] {
        let found = verdict(Method::Post, None, PARTS, &part(disposition));
        assert_eq!(found, PolicyVerdict::AutoApprove, "{disposition}");
    }
}

#[test]
fn a_query_counts_for_every_method_and_a_body_for_post_alone() {
    for method in [Method::Get, Method::Post, Method::Patch] {
        assert_eq!(verdict(method, Some("a=1&_method=DELETE"), None, ""), PolicyVerdict::Deny, "{method}");
    }
    assert_eq!(verdict(Method::Patch, None, FORM, "_method=DELETE"), PolicyVerdict::AutoApprove);
    for too_long in [true, false] {
        assert!(may_have_parameters(None, too_long) && may_have_parameters(PARTS, too_long));
        assert!(!may_have_parameters(Some("application/x-ndjson"), too_long));
        assert_eq!(may_have_parameters(JSON, too_long), !too_long);
    }
    let named = |url| query_may_name_method(&Target::parse(url).unwrap());
    assert!(named("https://a.example/?_METHOD=PUT") && named("https://a.example/?%5fm%65thod=PUT"));
    assert!(!named("https://a.example/method?a=1"));
}
