//! Where a history's decisions come from.

/// Random numbers of a seed, or a script that a shrinking test runner wrote.
pub enum Choices {
    Seeded(fastrand::Rng),
    Scripted { script: Vec<u16>, position: usize },
}

impl Choices {
    pub fn seeded(seed: u64) -> Self {
        Self::Seeded(fastrand::Rng::with_seed(seed))
    }

    pub const fn scripted(script: Vec<u16>) -> Self {
        Self::Scripted { script, position: 0 }
    }

    /// A number below `end`. A script that is over says 0, which is written to be the dull choice everywhere.
    pub fn below(&mut self, end: u16) -> u16 {
        match self {
            Self::Seeded(random) => random.u16(..end),
            Self::Scripted { script, position } => {
                let choice = script.get(*position).map_or(0, |number| number % end);
                *position += 1;
                choice
            }
        }
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u16) -> bool {
        self.below(times) == times - 1
    }

    pub fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[usize::from(self.below(u16::try_from(options.len()).expect("few options")))]
    }

    /// In `[0, 1)`, evenly.
    pub fn noise(&mut self) -> f64 {
        f64::from(self.below(u16::MAX)) / f64::from(u16::MAX)
    }

    /// Whether there is nothing left to decide.
    pub const fn are_over(&self) -> bool {
        match self {
            Self::Seeded(_) => false,
            Self::Scripted { script, position } => *position >= script.len(),
        }
    }
}
