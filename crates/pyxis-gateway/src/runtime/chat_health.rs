//! Results of examining the configured chats. Each process examines for itself and keeps them in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;

/// Result of examining a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChatHealth {
    /// The bot can work in the chat.
    Usable,
    /// The bot cannot work in the chat, for this reason.
    Unusable(String),
    /// Another chat took its place.
    Moved(String),
    /// The platform did not say.
    Unknown,
}

/// Reason that the bot cannot work in a chat, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatProblem {
    pub(crate) why: String,
    /// Time of the first examination that found a problem.
    pub(crate) since: UnixMillis,
}

/// The latest result of each chat.
#[derive(Default)]
pub(crate) struct ChatExaminations(Mutex<HashMap<(ChatPlatform, String), Examination>>);

struct Examination {
    at: UnixMillis,
    problem: Option<ChatProblem>,
}

impl ChatExaminations {
    /// Records a result. An unknown one keeps the problem that was known. Returns true if the chat is usable again.
    pub(crate) fn record(
        &self,
        platform: ChatPlatform,
        chat: &str,
        health: &ChatHealth,
        now: UnixMillis,
    ) -> bool {
        let mut all = self.all();
        let last = all.entry((platform, chat.to_owned())).or_insert(Examination { at: now, problem: None });
        last.at = now;
        let why = match health {
            ChatHealth::Unknown => return false,
            ChatHealth::Usable => return last.problem.take().is_some(),
            ChatHealth::Unusable(why) => why.clone(),
            ChatHealth::Moved(to) => {
                format!("the chat became {to}; a running server changes the setting within a minute")
            }
        };
        let since = last.problem.take().map_or(now, |problem| problem.since);
        last.problem = Some(ChatProblem { why, since });
        false
    }

    /// Removes the problem of a chat that a message was shown in.
    pub(crate) fn clear_problem(&self, platform: ChatPlatform, chat: &str) {
        if let Some(last) = self.all().get_mut(&(platform, chat.to_owned())) {
            last.problem = None;
        }
    }

    /// Problems of a platform's chats.
    pub(crate) fn problems(&self, platform: ChatPlatform) -> HashMap<String, ChatProblem> {
        let all = self.all();
        let own = all.iter().filter(|((of, _), _)| *of == platform);
        own.filter_map(|((_, chat), last)| Some((chat.clone(), last.problem.clone()?))).collect()
    }

    /// Forgets the chats of a platform except these. Returns the `most` of these whose last examination is longest ago.
    pub(crate) fn next(&self, platform: ChatPlatform, chats: BTreeSet<String>, most: usize) -> Vec<String> {
        let mut all = self.all();
        all.retain(|(of, chat), _| *of != platform || chats.contains(chat));
        let mut chats: Vec<String> = chats.into_iter().collect();
        chats.sort_by_cached_key(|chat| all.get(&(platform, chat.clone())).map(|last| last.at));
        chats.truncate(most);
        chats
    }

    fn all(&self) -> MutexGuard<'_, HashMap<(ChatPlatform, String), Examination>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLATFORM: ChatPlatform = ChatPlatform::TELEGRAM;

    fn at(millis: i64) -> UnixMillis {
        UnixMillis(1_700_000_000_000 + millis)
    }

    fn unusable(why: &str) -> ChatHealth {
        ChatHealth::Unusable(why.to_owned())
    }

    fn problem(all: &ChatExaminations, chat: &str) -> Option<(String, UnixMillis)> {
        all.problems(PLATFORM).remove(chat).map(|problem| (problem.why, problem.since))
    }

    #[test]
    fn a_problem_stands_since_it_was_first_found_until_the_chat_is_usable() {
        let all = ChatExaminations::default();
        assert!(!all.record(PLATFORM, "a", &ChatHealth::Usable, at(0)));
        assert!(!all.record(PLATFORM, "a", &unusable("kicked"), at(1)));
        assert!(!all.record(PLATFORM, "a", &ChatHealth::Unknown, at(2)));
        assert_eq!(problem(&all, "a"), Some(("kicked".to_owned(), at(1))));
        assert!(!all.record(PLATFORM, "a", &unusable("deleted"), at(3)));
        assert_eq!(problem(&all, "a"), Some(("deleted".to_owned(), at(1))));
        assert!(all.problems(ChatPlatform::MATRIX).is_empty());
        assert!(all.record(PLATFORM, "a", &ChatHealth::Usable, at(4)));
        assert_eq!(problem(&all, "a"), None);
        assert!(!all.record(PLATFORM, "a", &ChatHealth::Usable, at(5)), "it was usable before");
    }

    #[test]
    fn what_was_never_known_is_no_problem() {
        let all = ChatExaminations::default();
        assert!(!all.record(PLATFORM, "a", &ChatHealth::Unknown, at(0)));
        assert_eq!(problem(&all, "a"), None);
    }

    #[test]
    fn a_message_that_is_shown_removes_the_problem() {
        let all = ChatExaminations::default();
        all.record(PLATFORM, "a", &unusable("kicked"), at(0));
        all.clear_problem(PLATFORM, "a");
        all.clear_problem(PLATFORM, "b");
        assert!(all.problems(PLATFORM).is_empty());
    }

    #[test]
    fn every_chat_has_its_turn_however_many_there_are() {
        let all = ChatExaminations::default();
        let chats: BTreeSet<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        let mut turns = Vec::new();
        for now in [0, 2, 4, 6, 8] {
            for (chat, later) in all.next(PLATFORM, chats.clone(), 2).into_iter().zip(0..) {
                all.record(PLATFORM, &chat, &ChatHealth::Unknown, at(now + later));
                turns.push(chat);
            }
        }
        assert_eq!(turns.concat(), "abcdeabcde");
    }

    #[test]
    fn chats_that_are_no_longer_configured_are_forgotten() {
        let all = ChatExaminations::default();
        for platform in [PLATFORM, ChatPlatform::MATRIX] {
            all.record(platform, "a", &unusable("kicked"), at(0));
        }
        assert!(all.next(PLATFORM, BTreeSet::new(), 9).is_empty());
        assert!(all.problems(PLATFORM).is_empty());
        assert_eq!(all.problems(ChatPlatform::MATRIX).len(), 1);
    }
}
