//! Summary of a request in its compact row.

use super::secret_fields::{MASK, is_masked};
use crate::text::Middle;
use crate::view::approvals::Card;

/// Maximum number of body fields in a row.
const FIELDS: usize = 2;
/// Longest value of a field in a row, in characters.
const VALUE: usize = 32;
/// Longest summary, in characters.
const GIST: usize = 96;

/// Summary of a request in a few words. It is the finding of a content rule, the payload to sign or the tool with its
/// arguments. Without these, it is the first short fields of the body, else the agent's reason.
pub(super) fn gist<'a>(card: &Card, fields: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let first = card.content.clone().or_else(|| signing(card)).or_else(|| tool(card));
    let text = first.or_else(|| listed(fields)).or_else(|| card.reason.clone())?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Middle { head, tail, .. } = Middle::new(&line, GIST);
    Some(tail.map_or_else(|| head.clone(), |tail| format!("{head}…{tail}"))).filter(|text| !text.is_empty())
}

fn signing(card: &Card) -> Option<String> {
    card.signing.as_ref().map(|signing| signing.description.clone().unwrap_or_else(|| signing.what.clone()))
}

fn tool(card: &Card) -> Option<String> {
    let tool = card.tool.as_ref().filter(|tool| tool.is_certain)?;
    let arguments = tool.arguments.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Some(listed(arguments).map_or_else(|| tool.tool.clone(), |listed| format!("{} {listed}", tool.tool)))
}

/// The first short fields. The value of a field whose name marks it as secret is masked.
fn listed<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let filled = fields.filter(|(_, value)| !value.is_empty());
    let masked = filled.map(|(name, value)| (name, if is_masked(name, value) { MASK } else { value }));
    let short = masked.filter(|(_, value)| value.chars().count() <= VALUE);
    let shown: Vec<String> = short.take(FIELDS).map(|(name, value)| format!("{name} {value}")).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_short_fields_are_named_and_secret_values_are_masked() {
        let long = "x".repeat(33);
        let fields =
            [("note", long.as_str()), ("none", ""), ("amount", "5"), ("currency", "eur"), ("z", "1")];
        assert_eq!(listed(fields.into_iter()).as_deref(), Some("amount 5, currency eur"));
        let fields = [("api_token", long.as_str()), ("card.cvv", "123"), ("amount", "5")];
        assert_eq!(listed(fields.into_iter()).as_deref(), Some("api_token •••, card.cvv •••"));
    }
}
