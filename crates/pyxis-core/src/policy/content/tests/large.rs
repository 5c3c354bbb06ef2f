//! Bodies near the limit, under as many rules as a policy may have.

use super::*;

#[test]
fn two_hundred_rules_look_at_a_large_form_and_a_large_document_each_for_its_own_field() {
    let rules: Vec<String> = (0..100)
        .flat_map(|field| {
            [format!("/v1/form form f{field} <= {field}"), format!("/v1/json json /f{field} <= {field}")]
        })
        .collect();
    let policy = open_policy(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    let padding = "x".repeat(9000);
    let form: Vec<String> = (0..100).map(|field| format!("f{field}={field}&p{field}={padding}")).collect();
    let json: Vec<String> =
        (0..100).map(|field| format!("\"f{field}\":{field},\"p{field}\":\"{padding}\"")).collect();
    let (form, json) = (form.join("&"), format!("{{{}}}", json.join(",")));
    let url = |kind| format!("https://api.example.com/v1/{kind}");
    assert_eq!(verdict(&policy, &url("form"), FORM, &form), PolicyVerdict::AutoApprove);
    assert_eq!(verdict(&policy, &url("json"), JSON, &json), PolicyVerdict::AutoApprove);
    let (form, json) = (form.replace("f99=99", "f99=100"), json.replace("\"f99\":99", "\"f99\":100"));
    assert_eq!(verdict(&policy, &url("form"), FORM, &form), PolicyVerdict::RequireApproval);
    assert_eq!(verdict(&policy, &url("json"), JSON, &json), PolicyVerdict::RequireApproval);
}
