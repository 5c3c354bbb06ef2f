//! Description of a credential kind: its names, its fields, and the parts of it that are secret.

use serde_json::{Value, json};

use super::connector::Connector;

/// Section of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindGroup {
    /// The stored text is sent.
    Plain,
    /// The secret signs.
    Signature,
    /// The secret fetches what is sent.
    Token,
    /// Neither is attached to a request here.
    Elsewhere,
}

impl KindGroup {
    /// Every group, in the order of the page.
    pub const ALL: &'static [Self] = &[Self::Plain, Self::Signature, Self::Token, Self::Elsewhere];

    /// Heading of the group.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Plain => "Sent as is",
            Self::Signature => "Request signing",
            Self::Token => "Fetched token",
            Self::Elsewhere => "Other",
        }
    }
}

/// Everything about a kind that is not code. Forms, the command line, the API document and the reference page are made
/// from it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a description that forms and checks read, not a state")]
pub struct CredentialKind {
    /// The name on the wire and in forms.
    pub name: &'static str,
    /// Section on the page of a new credential.
    pub group: KindGroup,
    /// Short name for people.
    pub label: &'static str,
    /// Effect on a request, in one sentence, for the page.
    pub explanation: &'static str,
    /// Description in the API document.
    pub description: &'static str,
    /// Settings besides headers.
    pub settings: &'static [KindField],
    /// Headers with formats, if the settings have any.
    pub headers: Option<HeaderUse>,
    /// Settings that Pyxis computes: the name and a description.
    pub computed: &'static [(&'static str, &'static str)],
    pub secret: SecretForm,
    /// The secret in words, for the reference page.
    pub secret_words: &'static str,
    /// An example for the reference page.
    pub example: &'static str,
    /// True for a part of the secret that must not come back in responses; the name of a whole text is empty. Names
    /// of clients and public keys are none: responses are full of them.
    pub is_secret: fn(&str) -> bool,
    /// True if each request gets a value that is made or fetched for it.
    pub is_derived: bool,
    /// True if the secret is a key in PEM.
    pub has_pem_key: bool,
    /// True if a person can connect an account.
    pub connects_account: bool,
    /// True if a secret that one configuration accepts may be tried with another: a probe of any preset of this kind
    /// then serves all.
    pub shares_probes: bool,
    /// True if it is sent somewhere, so that it needs allowed hosts.
    pub has_hosts: bool,
    /// Route of requests.
    pub connector: Connector,
}

impl CredentialKind {
    /// A kind that sends one text as it is stored. Others change what differs.
    pub(super) const PLAIN: Self = Self {
        name: "",
        group: KindGroup::Plain,
        label: "",
        explanation: "",
        description: "",
        settings: &[],
        headers: None,
        computed: &[],
        secret: SecretForm::Text(KindField::SECRET),
        secret_words: "text",
        example: "",
        is_secret: |_| true,
        is_derived: false,
        has_pem_key: false,
        connects_account: false,
        shares_probes: true,
        has_hosts: true,
        connector: Connector::Direct,
    };

    /// Fields of the secret, as a form shows them.
    pub const fn secret_fields(&self) -> &'static [KindField] {
        match &self.secret {
            SecretForm::Fields(fields) => fields,
            SecretForm::Text(_) | SecretForm::TextOrObject(_) => &[],
        }
    }

    /// The form's field for a member of the configuration or of the secret.
    pub fn field(&self, member: &str) -> Option<&'static KindField> {
        self.settings.iter().chain(self.secret_fields()).find(|field| field.member == member)
    }

    /// Schemas of the configuration, for the API document.
    pub fn schemas(&self) -> Vec<Value> {
        let list =
            json!({"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/HeaderFormat"}});
        match self.headers {
            None => vec![self.schema(self.name, self.description, &[])],
            Some(HeaderUse { is_flat: false, .. }) => {
                vec![self.schema(self.name, self.description, &[("headers", list)])]
            }
            Some(HeaderUse { is_flat: true, name, .. }) => {
                let format = "Text with `{secret}` or `{secret.field}` in it.";
                let format = json!({"type": "string", "default": "{secret}", "description": format});
                let one = [("name", json!({"type": "string", "example": name})), ("format", format)];
                let several = format!("{}s", self.name);
                vec![
                    self.schema(self.name, "One header.", &one),
                    self.schema(&several, "Several headers.", &[("headers", list)]),
                ]
            }
        }
    }

    fn schema(&self, title: &str, description: &str, more: &[(&str, Value)]) -> Value {
        let mut members =
            serde_json::Map::from_iter([("kind".to_owned(), json!({"type": "string", "const": self.name}))]);
        let mut required = vec!["kind"];
        for field in self.settings {
            members.insert(field.member.to_owned(), field.schema());
            if field.is_required() {
                required.push(field.member);
            }
        }
        for (name, schema) in more {
            members.insert((*name).to_owned(), schema.clone());
            if *name != "format" {
                required.push(name);
            }
        }
        for (name, description) in self.computed {
            members
                .insert((*name).to_owned(), json!({"type": ["string", "null"], "description": description}));
        }
        json!({
            "title": title, "type": "object", "additionalProperties": false, "required": required,
            "description": description, "properties": members,
        })
    }
}

/// Use of headers with formats.
#[derive(Clone, Copy, Debug)]
pub struct HeaderUse {
    /// True if one header is written without a list.
    pub is_flat: bool,
    /// Example of a name.
    pub name: &'static str,
    /// Example of a format.
    pub format: &'static str,
    /// Instruction: text and code by turns.
    pub hint: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub enum SecretForm {
    /// One text.
    Text(KindField),
    /// One text, or an object of named texts.
    TextOrObject(KindField),
    /// Named texts.
    Fields(&'static [KindField]),
}

impl SecretForm {
    /// The field of a secret that is one text.
    pub const fn text_field(&self) -> Option<&KindField> {
        match self {
            Self::Text(field) | Self::TextOrObject(field) => Some(field),
            Self::Fields(_) => None,
        }
    }
}

/// A field of a form.
#[derive(Clone, Copy, Debug)]
pub struct KindField {
    /// Name of the input; no two fields of a page share one.
    pub name: &'static str,
    /// Member of the configuration or of the secret.
    pub member: &'static str,
    pub label: &'static str,
    /// Remark next to the label; may be empty.
    pub note: &'static str,
    /// Instruction; may be empty.
    pub hint: &'static str,
    /// An example; may be empty.
    pub example: &'static str,
    /// True if it may be left empty.
    pub optional: bool,
    /// Value of a setting that is left out.
    pub default: Option<&'static str>,
    pub input: KindInput,
}

/// Kind of input of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindInput {
    /// One line.
    Line,
    /// Several lines.
    Lines,
    /// One line that is displayed while it is typed, and not kept.
    Unkept,
    /// One line that is neither displayed nor kept.
    Secret,
    /// Several lines that are not kept.
    SecretLines,
    /// One of these values, each with its label; the first one is the default.
    Choice(&'static [(&'static str, &'static str)]),
}

impl KindField {
    /// A secret that is one text.
    pub(super) const SECRET: Self =
        Self::secret("secret", "Secret").with_note("write-only: never shown again");
    /// A private key of a secret with parts.
    pub(super) const PRIVATE_KEY: Self =
        Self::secret("private_key", "Private key").secret_lines().hint("PEM, as issued by the provider.");

    const fn new(name: &'static str, label: &'static str, input: KindInput) -> Self {
        Self {
            name,
            member: name,
            label,
            note: "",
            hint: "",
            example: "",
            optional: false,
            default: None,
            input,
        }
    }

    pub(super) const fn line(name: &'static str, label: &'static str, example: &'static str) -> Self {
        Self { example, ..Self::new(name, label, KindInput::Line) }
    }

    pub(super) const fn secret(name: &'static str, label: &'static str) -> Self {
        Self::new(name, label, KindInput::Secret)
    }

    pub(super) const fn choice(
        name: &'static str,
        label: &'static str,
        choices: &'static [(&'static str, &'static str)],
    ) -> Self {
        let default = match choices {
            [(first, _), ..] => Some(*first),
            [] => None,
        };
        Self { default, ..Self::new(name, label, KindInput::Choice(choices)) }
    }

    /// A member whose input has another name, because that name is taken on the page.
    pub(super) const fn member(self, member: &'static str) -> Self {
        Self { member, ..self }
    }

    pub(super) const fn lines(self) -> Self {
        Self { input: KindInput::Lines, ..self }
    }

    pub(super) const fn secret_lines(self) -> Self {
        Self { input: KindInput::SecretLines, ..self }
    }

    pub(super) const fn unkept(self) -> Self {
        Self { input: KindInput::Unkept, ..self }
    }

    pub(super) const fn optional(self) -> Self {
        Self { optional: true, note: "optional", ..self }
    }

    pub(super) const fn with_note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    pub(super) const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    pub(super) const fn without_default(self) -> Self {
        Self { default: None, ..self }
    }

    /// True if the value is not kept after the form is sent.
    pub const fn is_unkept(&self) -> bool {
        matches!(self.input, KindInput::Secret | KindInput::SecretLines | KindInput::Unkept)
    }

    /// True if the value is not displayed.
    pub const fn is_secret(&self) -> bool {
        matches!(self.input, KindInput::Secret | KindInput::SecretLines)
    }

    /// True for a setting that must be given.
    pub const fn is_required(&self) -> bool {
        !self.optional && self.default.is_none()
    }

    fn schema(&self) -> Value {
        let mut schema = match self.input {
            KindInput::Choice(choices) => {
                let values: Vec<&str> = choices.iter().map(|(value, _)| *value).collect();
                json!({"type": "string", "enum": values})
            }
            _ if self.optional && self.default.is_none() => json!({"type": ["string", "null"]}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        if let Some(default) = self.default {
            schema["default"] = default.into();
        }
        if self.member.ends_with("_url") {
            schema["format"] = "uri".into();
        }
        if !self.hint.is_empty() {
            schema["description"] = self.hint.into();
        }
        if !self.example.is_empty() {
            schema["example"] = self.example.into();
        }
        schema
    }
}
