//! Small enumerations with fixed wire names.

use serde::{Deserialize, Serialize, Serializer};

use crate::chat::ChatPlatform;

macro_rules! wire_enum {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every value, in the order of the documents.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value of a wire name; case matters.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let lines: &[&str] = &[$($doc),*];
                let description = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some(Self::ALL.iter().map(|one| one.as_str())))
                    .description(Some(description))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use wire_enum;

wire_enum!(
    /// Treatment of a credential without a policy (`docs/reference/policy.md#defaults`).
    ApprovalMode {
        /// GET and HEAD pass, everything else needs approval.
        Gated = "gated",
        /// Everything passes.
        Autonomous = "autonomous",
    }
);

/// Place where an approval is announced (`docs/reference/behavior/proxy.md#channels`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The link is returned to the agent, which shows it.
    AgentReflected,
    /// The dashboard's inbox.
    Dashboard,
    Chat(ChatPlatform),
}

impl utoipa::PartialSchema for Channel {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::all().map(Self::as_str)))
            .description(Some("Channel that announces approvals."))
            .into()
    }
}

impl utoipa::ToSchema for Channel {}

impl Channel {
    /// Every value, in the order of the documents.
    pub fn all() -> impl Iterator<Item = Self> {
        let chats = ChatPlatform::ALL.iter().copied().map(Self::Chat);
        [Self::AgentReflected, Self::Dashboard].into_iter().chain(chats)
    }

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentReflected => "agent_reflected",
            Self::Dashboard => "dashboard",
            Self::Chat(platform) => platform.spec().channel,
        }
    }

    /// The value of a wire name; case matters.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::all().find(|channel| channel.as_str() == text)
    }

    /// The platform of a chat channel.
    pub const fn platform(self) -> Option<ChatPlatform> {
        match self {
            Self::Chat(platform) => Some(platform),
            Self::AgentReflected | Self::Dashboard => None,
        }
    }
}

impl std::fmt::Display for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

wire_enum!(
    /// A person's role in a workspace. Owners and admins are its managers.
    Role {
        /// Manager who can also remove other managers.
        Owner = "owner",
        /// Manager.
        Admin = "admin",
        /// Sees and decides only what was assigned.
        Member = "member",
    }
);

impl Role {
    /// True for owners and admins, the "workspace managers".
    pub const fn is_manager(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

wire_enum!(
    /// Approval states (`docs/reference/behavior/proxy.md#approval-states`).
    ApprovalState {
        /// Waits for a human.
        Pending = "pending",
        /// A person approved.
        Approved = "approved",
        /// A person denied.
        Denied = "denied",
        /// No one decided in time, or the agent withdrew.
        Expired = "expired",
    }
);

wire_enum!(
    /// Progress of an approved request on its way upstream.
    ForwardState {
        /// Not approved (yet).
        None = "none",
        /// Approved; no byte has been sent.
        Ready = "ready",
        /// The attempt is recorded; bytes may have been sent.
        Sending = "sending",
        /// A response, or a definite failure, is stored.
        Done = "done",
    }
);
