//! The stand-in for Slack as a program of its own, for Slack's own clients (`ci/chat-clients.sh`).
//!
//! It prints its address, then answers one JSON command per line with one line.

use std::io::{BufRead, Write, stdin, stdout};

use pyxis_testkit::slack::{APP_TOKEN, BOT_TOKEN, CHANNEL, OTHER_CHANNEL, Slack, SlackMessage};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let slack = runtime.block_on(Slack::start());
    print_line(&json!({
        "base": slack.base(), "bot_token": BOT_TOKEN, "app_token": APP_TOKEN,
        "channel": CHANNEL, "other_channel": OTHER_CHANNEL,
    }))?;
    for line in stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        print_line(&obey(&slack, &command))?;
    }
    Ok(())
}

fn print_line(value: &Value) -> std::io::Result<()> {
    writeln!(stdout(), "{value}")?;
    stdout().flush()
}

fn obey(slack: &Slack, command: &Value) -> Value {
    let text = |name: &str| command[name].as_str().unwrap_or_default();
    match text("do") {
        "press" => {
            let message = slack.messages().into_iter().find(|message| message.ts == text("ts"));
            let message = message.expect("a message with this time");
            json!(slack.press(&message, text("label"), text("user")))
        }
        "submit" => json!(slack.submit(text("user"), command["text"].as_str())),
        "write" => json!(slack.write(text("user"), text("text"))),
        "announce_end" => json!(slack.announce_end(text("reason"))),
        "limit" => {
            slack.limit(&[command["seconds"].as_u64().unwrap_or(1)]);
            Value::Null
        }
        "state" => json!({
            "messages": slack.messages().iter().map(message_json).collect::<Vec<_>>(),
            "ephemeral": slack.ephemeral(),
            "acknowledged": slack.envelopes().iter()
                .filter(|envelope| envelope.acknowledged.is_some())
                .map(|envelope| envelope.id.as_str()).collect::<Vec<_>>(),
            "sockets": slack.sockets(),
            "open_sockets": slack.open_sockets(),
            "pongs": slack.pongs(),
        }),
        other => panic!("no command {other}"),
    }
}

fn message_json(message: &SlackMessage) -> Value {
    json!({
        "channel": message.channel, "ts": message.ts, "text": message.text, "edits": message.edits,
        "labels": message.labels(),
    })
}
