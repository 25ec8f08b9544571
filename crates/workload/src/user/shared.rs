//! What all virtual users of a load have in common.

use crate::catalog::Layout;
use crate::distribution::KeySampler;
use crate::name::WorkloadName;
use crate::options::{Options, OptionsError};
use crate::step::{self, Step};

/// What all virtual users of a load have in common; they share one.
#[derive(Debug)]
pub struct Shared {
    pub(super) workload: WorkloadName,
    pub(super) options: Options,
    pub(super) seed: u64,
    pub(super) users: u32,
    pub(super) steps: Vec<Step>,
    pub(super) layout: Layout,
    pub(super) keys: KeySampler,
}

impl Shared {
    /// Prepares a load of `users` virtual users; refuses options that make no
    /// transaction.
    pub fn new(
        workload: WorkloadName,
        options: Options,
        seed: u64,
        users: u32,
    ) -> Result<Shared, OptionsError> {
        options.validate_for(workload)?;
        Ok(Shared {
            workload,
            seed,
            users: users.max(1),
            steps: step::steps(workload, &options),
            layout: Layout::new(workload, &options),
            keys: KeySampler::new(&options.distribution, 1, options.highest_key())?,
            options,
        })
    }

    /// The workload.
    pub fn workload(&self) -> WorkloadName {
        self.workload
    }

    /// Its options, which are valid.
    pub fn options(&self) -> &Options {
        &self.options
    }
}
