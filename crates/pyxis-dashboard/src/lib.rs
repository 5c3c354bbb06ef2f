//! The pages a person sees: inbox, approval, agents, credentials, policies, audit, settings
