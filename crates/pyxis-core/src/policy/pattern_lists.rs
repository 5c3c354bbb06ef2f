//! Lists of patterns: those that protect, matched on every plausible variant of a path, and those that permit.

use std::cell::OnceCell;

use crate::pattern::{Pattern, PatternIndex, is_garbled, is_unambiguous, variants};
use crate::target::Target;

/// A path with its variants, computed on demand.
pub(super) struct Path<'a> {
    pub(super) text: &'a [u8],
    variants: OnceCell<PathVariants>,
}

/// The variants of a path; usually only the path itself.
pub(super) enum PathVariants {
    One,
    Several(Vec<Vec<u8>>),
    TooMany,
}

impl<'a> Path<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, variants: OnceCell::new() }
    }

    pub(super) fn path_variants(&self) -> &PathVariants {
        self.variants.get_or_init(|| {
            if is_unambiguous(self.text) {
                return PathVariants::One;
            }
            variants(self.text).map_or(PathVariants::TooMany, PathVariants::Several)
        })
    }

    pub(super) fn is_garbled(&self) -> bool {
        matches!(self.path_variants(), PathVariants::Several(paths) if is_garbled(paths))
    }
}

/// One list of patterns, indexed, with the texts to report.
#[derive(Debug, Default)]
pub(super) struct PatternList {
    pub(super) index: PatternIndex,
    texts: Box<[Box<str>]>,
}

impl PatternList {
    /// A list that protects: trailing slashes are ignored, and escapes count as the characters they encode.
    pub(super) fn protecting(texts: &[String]) -> Self {
        let mut index = PatternIndex::default();
        for (position, text) in texts.iter().enumerate() {
            match Pattern::parse(text) {
                Ok(pattern) => {
                    pattern.protecting_forms().iter().for_each(|form| index.insert(form, position));
                }
                Err(_) => index.insert_everything(position),
            }
        }
        Self::new(index, texts)
    }

    fn new(index: PatternIndex, texts: &[String]) -> Self {
        Self { index, texts: texts.iter().map(|text| text.as_str().into()).collect() }
    }

    pub(super) fn text(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(AsRef::as_ref)
    }
}

/// The patterns that let requests pass.
#[derive(Debug)]
pub(super) struct PermitList {
    /// Canonical paths, to the letter.
    exact: PatternList,
    /// The same patterns in the form of [`PatternList::protecting`]: the area that passing requests must stay within.
    area: PatternIndex,
}

impl PermitList {
    pub(super) fn compile(texts: &[String]) -> Self {
        let (mut exact, mut area) = (PatternIndex::default(), PatternIndex::default());
        for (position, text) in texts.iter().enumerate() {
            if let Ok(pattern) = Pattern::parse(text) {
                exact.insert(&pattern, position);
                pattern.protecting_forms().iter().for_each(|form| area.insert(form, position));
            }
        }
        Self { exact: PatternList::new(exact, texts), area }
    }

    /// The pattern that the path itself matches. Every variant of the path must match one as well: no request leaves
    /// the permitted area by way of `..;` or an escaped slash. A garbled path never passes.
    pub(super) fn permits(&self, target: &Target, path: &Path<'_>) -> Option<&str> {
        let position = self.exact.index.patterns_of_host(target.host(), target.port()).find(path.text)?;
        let stays = match path.path_variants() {
            PathVariants::One => true,
            PathVariants::Several(paths) => {
                let area = self.area.patterns_of_host(target.host(), target.port());
                !path.is_garbled() && paths.iter().all(|path| area.find(path).is_some())
            }
            PathVariants::TooMany => false,
        };
        stays.then(|| self.exact.text(position)).flatten()
    }
}
