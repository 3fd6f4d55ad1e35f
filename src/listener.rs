//! What both listeners (MCP and admin) share: binding, accepting, guarding, ending.

pub mod bind;
pub mod guard;
pub mod origin;
pub mod serve;
mod socket;

pub use bind::{BindError, Listener, bind};
pub use guard::{Denial, Guard};
pub use serve::{Limits, serve};
pub use socket::SocketAccess;
