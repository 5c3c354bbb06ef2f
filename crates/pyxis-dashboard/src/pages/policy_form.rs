//! Converts between the policy form and the policy document.

use pyxis_core::approval_mode::Channel;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::{Method, Policy, PolicyError};
use pyxis_gateway::admin::approver_count::ApproverCount;
use pyxis_gateway::admin::channels;
use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::channels::platform::PlatformDescriptor;
use serde_json::{Map, Value, json};

use super::{escalation_lines, sentence};
use crate::form::Fields;
use crate::view::policies::{MAX_MINUTES, MethodRule, PolicyForm};
use crate::view::{Choice, Problems, RoomField};

/// The methods of the form. HEAD follows GET.
const METHODS: [Method; 7] = [
    Method::Get,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
    Method::WebSocket,
];

/// Chat platforms configured on this server.
pub(super) struct Chats(Vec<ChatPlatform>);

impl Chats {
    pub(super) fn from_state(gateway: &pyxis_gateway::State) -> Self {
        let all = ChatPlatform::ALL.iter().copied();
        Self(all.filter(|platform| channels::is_configured(gateway, *platform)).collect())
    }

    /// True if a channel can be chosen: a chat only if someone would be notified there.
    fn offers(&self, channel: Channel) -> bool {
        channel.platform().is_none_or(|platform| self.0.contains(&platform))
    }

    /// The available channels, and the stored one even if it is no longer available.
    fn choices(&self, stored: Channel) -> impl Iterator<Item = Channel> {
        Channel::all().filter(move |channel| self.offers(*channel) || *channel == stored)
    }

    /// Fields of the rooms on platforms whose channels can be chosen.
    fn rooms(&self, stored: Channel, value: impl Fn(ChatPlatform) -> String) -> Vec<RoomField> {
        let chosen: Vec<_> = self.choices(stored).filter_map(Channel::platform).collect();
        let fields = PLATFORMS.iter().filter(|described| chosen.contains(&described.platform));
        let field = |described: &PlatformDescriptor| RoomField {
            name: described.platform.spec().room_field,
            label: described.platform.room_label(),
            blank: format!("blank means the workspace's {}", described.platform.spec().room_noun),
            example: described.page.room_example,
            hint: described.page.room_hint,
            value: value(described.platform),
        };
        fields.map(field).collect()
    }
}

pub(super) fn from_policy(policy: &Policy, chats: &Chats) -> PolicyForm {
    let rule = |method: Method| {
        if policy.deny_methods.contains(&method) || denies_with_others(policy, method) {
            MethodRule::Deny
        } else if policy.auto_approve_methods.contains(&method) {
            MethodRule::Auto
        } else {
            MethodRule::Ask
        }
    };
    PolicyForm {
        methods: METHODS.map(|method| (method.as_str().to_owned(), rule(method))).to_vec(),
        auto_approve_urls: policy.auto_approve_urls.join("\n"),
        require_approval_urls: policy.require_approval_urls.join("\n"),
        deny_urls: policy.deny_urls.join("\n"),
        content_rules: policy.content_rules.join("\n"),
        allowed_approvers: policy.allowed_approvers.join("\n"),
        on_call: policy.on_call.join("\n"),
        escalation: escalation_lines::text(policy),
        min_approvals: policy.min_approvals.to_string(),
        require_reason: policy.require_reason,
        passkey_required: policy.passkey_required,
        approval_timeout_minutes: minutes(policy.approval_timeout_secs.map(u64::from)),
        channels: channel_choices(policy.channel.as_str(), policy.channel, chats),
        rooms: chats
            .rooms(policy.channel, |platform| policy.rooms.get(platform).unwrap_or_default().to_owned()),
        problems: Problems::default(),
    }
}

/// True for a WebSocket that is denied because other methods are (`docs/reference/policy.md#websocket`).
fn denies_with_others(policy: &Policy, method: Method) -> bool {
    let is_listed = [&policy.auto_approve_methods, &policy.require_approval_methods]
        .iter()
        .any(|list| list.contains(&Method::WebSocket));
    let denied = &policy.deny_methods;
    method == Method::WebSocket && (denied.contains(&Method::Get) || !(denied.is_empty() || is_listed))
}

pub(super) fn typed(fields: &Fields, stored: &Policy, chats: &Chats, problems: Problems) -> PolicyForm {
    PolicyForm {
        methods: METHODS.map(|method| (method.as_str().to_owned(), rule_of(fields, method))).to_vec(),
        auto_approve_urls: fields.text("auto_approve_urls"),
        require_approval_urls: fields.text("require_approval_urls"),
        deny_urls: fields.text("deny_urls"),
        content_rules: fields.text("content_rules"),
        allowed_approvers: fields.text("allowed_approvers"),
        on_call: fields.text("on_call"),
        escalation: fields.text("escalation"),
        min_approvals: fields.trimmed("min_approvals"),
        require_reason: fields.is_checked("require_reason"),
        passkey_required: fields.is_checked("passkey_required"),
        approval_timeout_minutes: fields.trimmed("approval_timeout_minutes"),
        channels: channel_choices(fields.get("channel"), stored.channel, chats),
        rooms: chats.rooms(stored.channel, |platform| fields.trimmed(platform.spec().room_field)),
        problems,
    }
}

/// A method without a choice asks.
fn rule_of(fields: &Fields, method: Method) -> MethodRule {
    match fields.get(&format!("method_{method}")) {
        "auto" => MethodRule::Auto,
        "deny" => MethodRule::Deny,
        _ => MethodRule::Ask,
    }
}

fn channel_choices(chosen: &str, stored: Channel, chats: &Chats) -> Vec<Choice> {
    let label = |channel: Channel| match channel {
        Channel::AgentReflected => "Agent's response and inbox".to_owned(),
        Channel::Dashboard => "Inbox and browser notifications".to_owned(),
        Channel::Chat(platform) => format!("{} and inbox", platform.spec().label),
    };
    chats
        .choices(stored)
        .map(|channel| Choice {
            value: channel.as_str().to_owned(),
            label: label(channel),
            chosen: channel.as_str() == chosen,
        })
        .collect()
}

/// Message for minutes outside `1..=MAX_MINUTES`.
pub(super) fn window_problem() -> String {
    format!("Enter 1 to {MAX_MINUTES} whole minutes, or leave blank for the server's default.")
}

/// Whole minutes of a window, rounded up; empty for none.
pub(super) fn minutes(seconds: Option<u64>) -> String {
    seconds.map(|seconds| seconds.div_ceil(60).to_string()).unwrap_or_default()
}

/// A window as typed, in seconds. If left as shown, it keeps its stored value to the second; cleared, there is none.
pub(super) fn seconds(typed: &str, stored: Option<u64>) -> Option<Value> {
    if typed.is_empty() {
        return Some(Value::Null);
    }
    if typed == minutes(stored) {
        return Some(json!(stored));
    }
    typed.parse::<u64>().ok().and_then(|minutes| minutes.checked_mul(60)).map(Value::from)
}

/// The policy that the form describes. Anything the form does not show stays as in `stored`.
pub(super) fn policy(fields: &Fields, stored: Option<&Policy>) -> Result<Policy, Problems> {
    let document = document(fields, stored);
    let mut problems = Problems::default();
    for (name, value) in &document {
        // Field by field, so that all problems are reported at once.
        let alone = json!({ name.as_str(): value }).to_string();
        if let Err(PolicyError::Field { detail, .. }) = Policy::from_json(alone.as_bytes()) {
            let message = match name.as_str() {
                // The document counts seconds, and the form minutes.
                "approval_timeout_secs" => window_problem(),
                _ => sentence(&with_quotes(&detail)),
            };
            problems.add(field(name), message);
        }
    }
    match Policy::from_json(Value::Object(document).to_string().as_bytes()) {
        Ok(policy) if problems.is_empty() => Ok(policy),
        Ok(_) => Err(problems),
        // Fields that are valid alone and not together.
        Err(PolicyError::Field { field: name, detail }) if problems.is_empty() => {
            problems.add(field(&name), sentence(&with_quotes(&detail)));
            Err(problems)
        }
        Err(error) => {
            if problems.is_empty() {
                problems.add("methods", sentence(&error.to_string()));
            }
            Err(problems)
        }
    }
}

/// The text with quotation marks for backticks, which are for terminals.
fn with_quotes(text: &str) -> String {
    let mut is_open = false;
    let quote = |c: char| match c {
        '`' => {
            is_open = !is_open;
            if is_open { '“' } else { '”' }
        }
        other => other,
    };
    text.chars().map(quote).collect()
}

fn document(fields: &Fields, stored: Option<&Policy>) -> Map<String, Value> {
    let kept = stored.cloned().unwrap_or_default();
    let listed = |rule: MethodRule| -> Vec<&str> {
        METHODS.into_iter().filter(|m| rule_of(fields, *m) == rule).map(Method::as_str).collect()
    };
    // An unlisted method asks as well; one that was unlisted and still asks stays so.
    let asks: Vec<&str> = METHODS
        .into_iter()
        .filter(|method| rule_of(fields, *method) == MethodRule::Ask)
        .filter(|method| !(stored.is_some() && is_unlisted(&kept, *method)))
        .map(Method::as_str)
        .collect();
    let window = fields.trimmed("approval_timeout_minutes");
    let stored_window = kept.approval_timeout_secs.map(u64::from);
    let whole = |text: &str| text.parse::<u64>().map_or_else(|_| json!(text), Value::from);
    // A form without these fields leaves them unchanged.
    let typed = |name: &str| fields.all(name).next().map(|_| fields.lines(name));
    let on_call = typed("on_call").map_or_else(|| json!(kept.on_call), |lines| json!(lines));
    let escalation = typed("escalation")
        .map_or_else(|| json!(kept.escalation), |lines| escalation_lines::document(&lines));
    let entries = [
        ("auto_approve_methods", json!(listed(MethodRule::Auto))),
        ("require_approval_methods", json!(asks)),
        ("deny_methods", json!(listed(MethodRule::Deny))),
        ("auto_approve_urls", json!(fields.lines("auto_approve_urls"))),
        ("require_approval_urls", json!(fields.lines("require_approval_urls"))),
        ("deny_urls", json!(fields.lines("deny_urls"))),
        ("content_rules", json!(fields.lines("content_rules"))),
        ("allowed_approvers", json!(fields.lines("allowed_approvers"))),
        ("on_call", on_call),
        ("escalation", escalation),
        ("channel", json!(fields.get("channel"))),
        ("min_approvals", whole(&fields.trimmed("min_approvals"))),
        ("passkey_required", json!(fields.is_checked("passkey_required"))),
        ("require_reason", json!(fields.is_checked("require_reason"))),
        ("approval_timeout_secs", seconds(&window, stored_window).unwrap_or_else(|| json!(window))),
    ];
    let rooms = ChatPlatform::ALL.iter().map(|platform| {
        let field = platform.spec().room_field;
        (field, room_value(fields, field, kept.rooms.get(*platform)))
    });
    entries.into_iter().chain(rooms).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A room as typed; a form without the field leaves it unchanged.
fn room_value(fields: &Fields, name: &str, kept: Option<&str>) -> Value {
    match fields.all(name).next().map(str::trim) {
        None => json!(kept),
        Some("") => Value::Null,
        Some(typed) => json!(typed),
    }
}

fn is_unlisted(policy: &Policy, method: Method) -> bool {
    let lists = [&policy.auto_approve_methods, &policy.require_approval_methods, &policy.deny_methods];
    lists.iter().all(|list| !list.contains(&method))
}

/// The form's field for a field of the document.
pub(super) fn field(name: &str) -> &'static str {
    match name {
        "auto_approve_urls" => "auto_approve_urls",
        "require_approval_urls" => "require_approval_urls",
        "deny_urls" => "deny_urls",
        "content_rules" => "content_rules",
        "allowed_approvers" => "allowed_approvers",
        "on_call" => "on_call",
        "escalation" => "escalation",
        "channel" => "channel",
        "min_approvals" => "min_approvals",
        "approval_timeout_secs" => "approval_timeout_minutes",
        _ => ChatPlatform::of_room_field(name).map_or("methods", |platform| platform.spec().room_field),
    }
}

/// Warnings about likely mistakes. `able` counts the people who may approve with this policy.
pub(super) fn warnings(policy: &Policy, able: ApproverCount, chats: &Chats) -> Vec<String> {
    let mut warnings = Vec::new();
    if !chats.offers(policy.channel) {
        warnings.push(
            "No bot is connected to the policy's chat, so requests appear only in the inbox.".to_owned(),
        );
    }
    if policy.auto_approve_methods.is_empty() && policy.auto_approve_urls.is_empty() {
        warnings.push("Nothing is allowed automatically. Every request needs approval.".to_owned());
    }
    if policy.auto_approve_urls.iter().any(|pattern| pattern == "/") {
        warnings.push("The pattern / allows every URL with any method.".to_owned());
    }
    warnings.extend(able.warnings(policy));
    warnings
}
