//! Methods that are answered immediately.

use serde_json::{Value, json};

use super::{TelegramMessage, TelegramState, refusal, result};

impl TelegramState {
    pub(super) fn call(&mut self, method: &str, body: &Value) -> (u16, Value) {
        let chat = name_of(&body["chat_id"]);
        if let Some(to) = self.moved.get(&chat) {
            let (status, mut answer) =
                refusal(400, "Bad Request: group chat was upgraded to a supergroup chat");
            answer["parameters"] = json!({ "migrate_to_chat_id": to });
            return (status, answer);
        }
        if let Some((status, words)) = self.barred.get(&chat) {
            return (*status, refusal(*status, words).1);
        }
        match method {
            "getChat" => result(&json!({ "id": body["chat_id"], "type": "supergroup" })),
            "sendMessage" => self.send(body),
            "editMessageText" => self.edit(body),
            "answerCallbackQuery" => self.answer(body),
            "setWebhook" => {
                if !body["url"].as_str().is_some_and(|url| url.starts_with("https://")) {
                    return refusal(
                        400,
                        "Bad Request: bad webhook: An HTTPS URL must be provided for webhook",
                    );
                }
                self.webhook = Some(body.clone());
                result(&json!(true))
            }
            "deleteWebhook" => {
                self.webhook = None;
                result(&json!(true))
            }
            "getMe" => {
                result(&json!({ "id": 123_456, "is_bot": true, "first_name": "Px", "username": "px_bot" }))
            }
            _ => refusal(404, "Not Found"),
        }
    }

    fn send(&mut self, body: &Value) -> (u16, Value) {
        let chat = name_of(&body["chat_id"]);
        // The error of the real API for a chat without the bot.
        if chat.is_empty() || chat == "404" {
            return refusal(400, "Bad Request: chat not found");
        }
        let (text, buttons) = match content(body) {
            Ok(content) => content,
            Err(refused) => return refused,
        };
        let id = self.next_message;
        self.next_message += 1;
        self.messages.insert((chat.clone(), id), TelegramMessage { chat, id, text, buttons, edits: 0 });
        result(&json!({ "message_id": id, "date": 1, "chat": { "id": 1, "type": "private" } }))
    }

    fn edit(&mut self, body: &Value) -> (u16, Value) {
        let key = (name_of(&body["chat_id"]), body["message_id"].as_i64().unwrap_or(0));
        let (text, buttons) = match content(body) {
            Ok(content) => content,
            Err(refused) => return refused,
        };
        let Some(message) = self.messages.get_mut(&key) else {
            return refusal(400, "Bad Request: message to edit not found");
        };
        if message.text == text && message.buttons == buttons {
            return refusal(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
            );
        }
        (message.text, message.buttons) = (text, buttons);
        message.edits += 1;
        result(&json!({ "message_id": key.1 }))
    }

    fn answer(&mut self, body: &Value) -> (u16, Value) {
        let id = body["callback_query_id"].as_str().unwrap_or_default().to_owned();
        let text = body["text"].as_str().unwrap_or_default().to_owned();
        if !self.presses.contains(&id) {
            return refusal(
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            );
        }
        if text.chars().count() > 200 {
            return refusal(400, "Bad Request: MESSAGE_TOO_LONG");
        }
        self.answers.push((id, text));
        result(&json!(true))
    }
}

fn name_of(chat: &Value) -> String {
    chat.as_str().map_or_else(|| chat.as_i64().map(|id| id.to_string()).unwrap_or_default(), str::to_owned)
}

/// Text and buttons: label and payload.
type Content = (String, Vec<(String, Value)>);

/// Validates the content of a message like the real API.
fn content(body: &Value) -> Result<Content, (u16, Value)> {
    let text = body["text"].as_str().unwrap_or_default();
    match text.encode_utf16().count() {
        0 => return Err(refusal(400, "Bad Request: message text is empty")),
        1..=4096 => {}
        _ => return Err(refusal(400, "Bad Request: message is too long")),
    }
    let mut buttons = Vec::new();
    for button in body["reply_markup"]["inline_keyboard"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten()
    {
        if button["callback_data"].as_str().is_some_and(|data| data.is_empty() || data.len() > 64) {
            return Err(refusal(400, "Bad Request: BUTTON_DATA_INVALID"));
        }
        if button["url"].as_str().is_some_and(|url| url.contains("localhost") || !url.starts_with("http")) {
            return Err(refusal(400, "Bad Request: BUTTON_URL_INVALID"));
        }
        buttons.push((button["text"].as_str().unwrap_or_default().to_owned(), button.clone()));
    }
    Ok((text.to_owned(), buttons))
}
