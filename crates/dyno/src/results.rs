//! What a run leaves: its directory, the report, and the summary on stdout.

use std::path::{Path, PathBuf};

use measure::result::RunResult;
use measure::summary::{SCHEMA_VERSION, TrialSummary};
use report::html::Report;
use store::{ResultDir, TrialWriter};

use crate::failure::{Exit, Failure};
use crate::progress::Screen;
use crate::secrets::command_line;

/// A result that grows with each trial.
pub(crate) struct Results {
    dir: ResultDir,
    result: RunResult,
    study: String,
    trials: Vec<PathBuf>,
}

impl Results {
    /// Makes the directory; `study` is the text that describes the run.
    pub(crate) fn create(
        out: Option<&Path>,
        title: &str,
        description: Option<&str>,
        study: &str,
    ) -> Result<Self, Failure> {
        let environment = store::fingerprint(env!("CARGO_PKG_VERSION"), &command_line());
        let dir = ResultDir::create(out, title, study, &environment)?;
        Ok(Self {
            dir,
            result: RunResult {
                schema_version: SCHEMA_VERSION,
                title: title.to_owned(),
                question: None,
                description: description.map(str::to_owned),
                design: measure::result::Design::default(),
                environment,
                trials: Vec::new(),
            },
            study: study.to_owned(),
            trials: Vec::new(),
        })
    }

    /// Takes the directory away if nothing was measured.
    pub(crate) fn discard_if_empty(self) {
        if self.trials.is_empty() {
            self.dir.discard();
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn trials(&self) -> &[TrialSummary] {
        &self.result.trials
    }

    /// The files of the next trial.
    pub(crate) fn begin(&mut self, label: &str) -> Result<TrialWriter, Failure> {
        let number = u32::try_from(self.trials.len() + 1).unwrap_or(u32::MAX);
        let writer = self.dir.trial(number, label)?;
        self.trials.push(writer.path().to_owned());
        Ok(writer)
    }

    /// A trial is over.
    pub(crate) fn add(&mut self, summary: TrialSummary) -> Result<(), Failure> {
        self.result.trials.push(summary);
        Ok(self.dir.write_result(&self.result)?)
    }

    /// Shows what was found, then writes the report: a disk that is full has the
    /// report fail, but not the screen.
    pub(crate) fn conclude(
        &self,
        text: &str,
        as_json: bool,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        if as_json {
            self.print_json()?;
        } else {
            print(&format!("\n{text}"))?;
        }
        screen.line(&format!("results: {}", self.path().display()));
        let report = self.report()?;
        screen.line(&format!("report:  {}", report.display()));
        Ok(())
    }

    /// Writes the report; gives its path.
    fn report(&self) -> Result<PathBuf, Failure> {
        let series: Vec<_> = self
            .trials
            .iter()
            .take(self.result.trials.len())
            .map(|trial| store::read_series(trial))
            .collect::<Result<_, _>>()?;
        let page = report::html::page(&Report {
            result: &self.result,
            series: &series,
            study: Some(&self.study),
        });
        let page = page.map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(self.dir.write_report(&page)?)
    }

    /// Prints the result for machines.
    fn print_json(&self) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(&self.result)
            .map_err(|error| Failure::new(Exit::Internal, error))?;
        print(&json)
    }
}

/// Prints to stdout; a reader that has gone away is no error.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(
            Exit::Internal,
            format!("cannot write to stdout: {error}"),
        )),
        _ => Ok(()),
    }
}
