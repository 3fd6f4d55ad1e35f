//! Actions in a form that can be predicted: without the causes that come with an escalation.

use mcp_sidecar::core::action::{Action, Escalation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Establish(u64, Option<u32>),
    Publish(u64),
    Probe(u64),
    Close(u64),
    Withdraw,
    ExitExhausted,
    ExitStartupFailed,
}

impl From<&Action> for Order {
    fn from(action: &Action) -> Self {
        match action {
            Action::Establish { generation, attempt } => Self::Establish(generation.number(), *attempt),
            Action::Publish { generation } => Self::Publish(generation.number()),
            Action::Probe { generation } => Self::Probe(generation.number()),
            Action::Close { generation } => Self::Close(generation.number()),
            Action::Withdraw => Self::Withdraw,
            Action::Escalate(Escalation::Exhausted { .. }) => Self::ExitExhausted,
            Action::Escalate(Escalation::StartupFailed { .. }) => Self::ExitStartupFailed,
        }
    }
}
