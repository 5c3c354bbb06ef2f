//! Small enumerations that the specification fixes, with their wire names.

use serde::{Deserialize, Serialize};

macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
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

            /// The value of a wire name, exactly spelled.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use wire_enum;

wire_enum!(
    /// What happens to a credential that has no policy (Spec 3, Team settings).
    ApprovalMode {
        /// GET and HEAD pass, everything else asks.
        Gated = "gated",
        /// Everything passes.
        Autonomous = "autonomous",
    }
);

wire_enum!(
    /// Where an approval is announced (Spec 3, Approval channels).
    Channel {
        /// The link goes back to the agent, which shows it.
        AgentReflected = "agent_reflected",
        /// The dashboard's inbox.
        Dashboard = "dashboard",
        /// The first chat platform.
        ChatPrimary = "chat_primary",
        /// The second chat platform.
        ChatSecondary = "chat_secondary",
    }
);

wire_enum!(
    /// A person's standing in a workspace. Owners and admins are its managers.
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
    /// Owners and admins are "workspace managers".
    pub const fn is_manager(self) -> bool {
        matches!(self, Self::Owner | Self::Admin)
    }
}

wire_enum!(
    /// Approval states (Spec 3, States and transitions).
    ApprovalState {
        /// Waits for a human.
        Pending = "pending",
        /// A human said yes.
        Approved = "approved",
        /// A human said no.
        Denied = "denied",
        /// Nobody decided in time, or the agent withdrew.
        Expired = "expired",
    }
);

wire_enum!(
    /// How far an approved request has come on its way upstream.
    ForwardState {
        /// Not approved (yet).
        None = "none",
        /// Approved; no byte has been sent.
        Ready = "ready",
        /// The attempt is on record; bytes may have been sent.
        Sending = "sending",
        /// An answer, or a definite failure, is stored.
        Done = "done",
    }
);
