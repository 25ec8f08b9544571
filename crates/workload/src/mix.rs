//! Several workloads at once: each transaction is one of them, drawn in proportion to its weight.
//!
//! Where weights are rates of Poisson arrivals, this is exactly the superposition of independent
//! loads: the types of the arrivals of a Poisson process are independent of its times.

use std::str::FromStr;

use crate::catalog::Labels;
use crate::name::{Body, UnknownWorkload, WorkloadName};
use crate::oltp::transaction::Steps;
use crate::options::{Options, OptionsError};

/// The workloads of a load with their weights: mostly one.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix(Vec<(WorkloadName, f64)>);

impl From<WorkloadName> for Mix {
    fn from(only: WorkloadName) -> Self {
        Self(vec![(only, 1.0)])
    }
}

/// Reads a name, or a [`plan::Mix`].
impl FromStr for Mix {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        let Ok(mix) = text.parse::<plan::Mix>() else {
            return Ok(text.parse::<WorkloadName>()?.into());
        };
        let parts = mix.parts.into_iter();
        let parts = parts.map(|(name, weight)| Ok((name.parse::<WorkloadName>()?, weight)));
        parts.collect::<Result<Vec<_>, UnknownWorkload>>().map(Self)
    }
}

impl Mix {
    /// The first workload, whose tables all others use.
    pub fn first(&self) -> WorkloadName {
        let first = self.0.first();
        first.map_or(WorkloadName::OltpReadWrite, |(name, _)| *name)
    }

    /// Checks the options of each workload, and that all can use the same tables.
    pub fn validate(&self, options: &Options) -> Result<(), OptionsError> {
        self.0.iter().try_for_each(|(name, _)| {
            let workload = name.name();
            match name.begins_empty() && self.0.len() > 1 {
                true => Err(OptionsError::NotMixed { workload }),
                false => name.validate(options),
            }
        })
    }

    /// The labels of the statements of all workloads.
    pub fn labels(&self, options: &Options) -> Labels {
        let mut labels = Labels::default();
        for (name, _) in &self.0 {
            for (label, class) in name.labels(options).iter() {
                labels.intern(label.to_owned(), class);
            }
        }
        labels
    }

    pub fn statement_count(&self, options: &Options) -> u64 {
        let counts = self.0.iter().map(|(name, _)| name.statement_count(options));
        counts.sum()
    }

    /// The steps of the transactions with their weights; `None` for bulk inserts.
    pub(crate) fn steps(&self) -> Option<Vec<(Steps, f64)>> {
        let steps = self.0.iter().map(|(name, weight)| match name.body() {
            Body::Oltp(steps) => Some((steps, *weight)),
            Body::BulkInsert => None,
        });
        steps.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in::BuiltIn;
    use crate::schema::Dialect;
    use crate::virtual_user::Workload;

    #[test]
    fn a_mix_has_the_statements_of_all_its_workloads() {
        let options = Options::default();
        let mix: Mix = "oltp_read_only:3,oltp_insert".parse().unwrap();
        let labels = mix.labels(&options);
        let names: Vec<_> = labels.iter().map(|(name, _)| name).collect();
        assert_eq!((names[0], names.last().copied()), ("begin", Some("insert")));
        let workload = BuiltIn::new(mix.clone(), &options, &Dialect::STANDARD, 1, 4).unwrap();
        let catalog = workload.catalog();
        assert_eq!(catalog.labels, labels);
        let counted = catalog.statements.len() as u64;
        assert_eq!(counted, mix.statement_count(&options));
        assert_eq!(
            (workload.kinds(), mix.first()),
            (2, WorkloadName::OltpReadOnly)
        );
    }

    #[test]
    fn what_cannot_be_mixed_is_refused() {
        let options = Options::default();
        let mixed = "bulk_insert,oltp_insert".parse::<Mix>().unwrap();
        let refused = mixed.validate(&options).unwrap_err().to_string();
        assert!(refused.starts_with("bulk_insert has tables"), "{refused}");
        let alone: Mix = WorkloadName::BulkInsert.into();
        assert_eq!(alone.validate(&options), Ok(()));
        assert!("oltp_insert:2,oltp_select:1".parse::<Mix>().is_err());
    }
}
