//! Chats that accept no messages for a while. Each process learns of them for itself and keeps them in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;

/// Limited chats, with the time when the platform accepts messages there again.
#[derive(Default)]
pub(crate) struct ChatLimits(Mutex<HashMap<(ChatPlatform, String), UnixMillis>>);

impl ChatLimits {
    /// End of the limit of a chat; `None` if the chat is not limited at `now`.
    pub(crate) fn end(&self, platform: ChatPlatform, chat: &str, now: UnixMillis) -> Option<UnixMillis> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(platform, chat.to_owned())).copied().filter(|end| *end > now)
    }

    /// Records that a chat is limited until `end`, or longer if that is known. Forgets limits that are over.
    pub(crate) fn limit(&self, platform: ChatPlatform, chat: &str, now: UnixMillis, end: UnixMillis) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, end| *end > now);
        let known = all.entry((platform, chat.to_owned())).or_insert(end);
        *known = end.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_for_its_chat_until_the_latest_end() {
        let (limits, platform) = (ChatLimits::default(), ChatPlatform::SLACK);
        let at = |millis| UnixMillis(millis);
        limits.limit(platform, "C0OPS", at(0), at(30));
        limits.limit(platform, "C0OPS", at(1), at(20));
        assert_eq!(limits.end(platform, "C0OPS", at(29)), Some(at(30)));
        assert_eq!(limits.end(platform, "C0OPS", at(30)), None);
        assert_eq!(limits.end(platform, "C0OTHER", at(1)), None);
        assert_eq!(limits.end(ChatPlatform::DISCORD, "C0OPS", at(1)), None);
        limits.limit(platform, "C0OTHER", at(31), at(40));
        assert_eq!(limits.0.lock().unwrap().len(), 1, "limits that are over are forgotten");
    }
}
