//! `--dyno-out`: the run as a result of dyno, with its own reports.

use std::path::Path;

use ::load::LoadSpec;
use lab::{Observer, Progress};
use measure::setup::{Outcome, Setup, StatementKind, Unfinished};
use measure::slice::Second;
use measure::summarize::Summarizer;
use measure::summary::TrialSummary;
use study::{Study, quoted};
use workload::catalog::Labels;
use workload::options::Options;

use super::Invocation;
use super::servers::Servers;
use crate::as_study::one_line;
use crate::failure::Failure;
use crate::progress::{Detail, Screen};
use crate::results::Results;
use crate::secrets::command_line;
use crate::study_file::PlannedStudy;

/// A result that is being written, without what the laboratory monitors.
pub(super) struct Record {
    pub(super) results: Results,
    setup: Setup,
    kinds: Vec<StatementKind>,
    summary: Summarizer,
}

impl Record {
    /// Creates the directory; `None` without the option or a database. `data` is the number of
    /// tables that the test uses, if they are those of a workload, and its options.
    pub(super) fn create(
        it: &Invocation,
        servers: &Servers,
        spec: &LoadSpec,
        test: &str,
        data: (u32, &Options),
        labels: &Labels,
    ) -> Result<Option<Self>, Failure> {
        let out = it.line.values.text("dyno-out");
        let database = servers.reached().ok().flatten();
        let Some(database) = database.filter(|_| !out.is_empty()) else {
            return Ok(None);
        };
        let (command, title) = (one_line(&command_line()), quoted(test));
        let url = quoted(&database.shown());
        // Its command line repeats the run; a study has no such tests.
        let text = format!("# {command}\ntitle = {title}\n\n[server]\nurl = {url}\n");
        let study = Study::parse("dyno sysbench", &text, engine::catalog());
        let study = PlannedStudy::of(study.map_err(Failure::usage)?, Path::new(""))?;
        let screen = Screen::new(Detail::Nothing);
        let mut results = Results::create(Some(Path::new(out)), test, &study, &[], screen)?;
        let planned = study.plan.trials.into_iter().next();
        let mut planned = planned.ok_or_else(|| Failure::internal("the study has no trial"))?;
        let (tables, options) = data;
        planned.data = options.data.clone();
        planned.data.seed = it.seed;
        planned.transaction = options.transaction.clone();
        let (load, general) = (&mut planned.load, &it.general);
        load.workload.value = test.to_owned();
        load.distribution.value = general.distribution.to_string();
        (load.threads, load.protocol) = (spec.users, servers.targets.protocol);
        (load.warmup, load.time) = (spec.warmup, spec.time.unwrap_or_default());
        (load.events, load.rate) = (spec.events, general.rate.map(f64::from));
        results.begin_planned(&planned, 1.0)?;
        let kinds = labels.iter().map(|(name, class)| StatementKind {
            name: name.to_owned(),
            class,
        });
        let kinds: Vec<_> = kinds.collect();
        Ok(Some(Self {
            results,
            setup: Setup {
                engine: database.product(),
                server: database.shown(),
                tls: database.server().and_then(|server| server.tls()),
                workers: spec.workers,
                tables,
                ..Setup::new(&planned)
            },
            summary: Summarizer::new(&kinds),
            kinds,
        }))
    }

    pub(super) fn second(&mut self, second: &Second) {
        self.summary.add(second);
        self.results.progress(Progress::Second(second, &self.kinds));
    }

    pub(super) fn end(mut self, outcome: Outcome, unfinished: Unfinished) -> Result<(), Failure> {
        self.results.end(self.summary.finish(TrialSummary {
            outcome,
            unfinished,
            ..TrialSummary::new(self.setup)
        }))?;
        self.results.write()
    }
}
