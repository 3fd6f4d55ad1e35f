//! The number of one incarnation of a connection.

use std::fmt;

/// One incarnation of a target's connection: fresh transport, fresh client and, for stdio, a fresh process.
///
/// Numbered from 1 per target; [`Generation::NONE`] (0) stands for "none yet". Every message inside the program carries
/// the generation it belongs to, and what belongs to an older one is inert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(u64);

impl Generation {
    /// Before the first generation.
    pub const NONE: Self = Self(0);

    /// The generation with this number; 0 is [`Generation::NONE`].
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The number, as logs, metrics and `/status` show it.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
