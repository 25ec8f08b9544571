//! `dyno doctor --noise`: how much identical servers differ on this host when they take turns.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::{Lab, Observer, Run, Target, Trial};
use measure::compare::{Boundary, ERROR_RATE, Noise, looks};
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use study::Study;

use crate::console::{eprint, print};
use crate::failure::{Exit, Failure};
use crate::study_file::PlannedStudy;
use crate::{noise, results, signals};

/// Enough for two pairs of turns in each of two starts.
const SHORTEST: Duration = Duration::from_secs(8);
const LONGEST: Duration = Duration::from_secs(3600);
const MOST_STARTS: u32 = 10;
/// Target length of a start, long enough for several pairs.
const START: Duration = Duration::from_secs(10);

/// Measures the noise for about this long, records it, and prints it. The engine is that of the
/// study's `trials`, or the first one that is installed.
pub(crate) fn measure(time: Duration, trials: &[Trial]) -> Result<(), Failure> {
    check_length(time)?;
    noise::check()?;
    let mut lab = Lab::default();
    let (engine, trials) = identical(time, trials, &lab)?;
    eprint(&format!(
        "measuring with two identical {engine} servers, which take turns"
    ));
    let interrupted = signals::interruption()?;
    let mut observer = Collected {
        dir: lab.home()?.new_path("noise"),
        files: 0,
        began: Instant::now(),
        trials: Vec::new(),
        spent: Duration::ZERO,
    };
    let mut run = Run {
        observer: &mut observer,
        interrupted: &interrupted,
    };
    let ran = lab::run(&mut lab, &trials, &mut run);
    let here = results::environment(&[]);
    let is_kept = noise::keep(&here, &observer.trials, observer.spent)?;
    ran.map_err(|failure| with_note(failure, is_kept))?;
    if !is_kept {
        let message = "the servers took too few turns to show how much they differ";
        return Err(Failure::server(message).remedy("give --noise more time"));
    }
    let noise = noise::known().map_err(Failure::server)?;
    print(&shown(&noise))
}

fn check_length(time: Duration) -> Result<(), Failure> {
    let (problem, remedy) = match time {
        _ if time < SHORTEST => (
            "too short: two starts of two servers need 8s",
            "give it 60s or more",
        ),
        _ if time > LONGEST => (
            "too long: the maximum is 1h",
            "repeat shorter measurements, which are evaluated together",
        ),
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("--noise is {problem}")).remedy(remedy))
}

/// Adds to a failure whether the noise of the completed starts is recorded.
fn with_note(failure: Failure, is_kept: bool) -> Failure {
    let note = match is_kept {
        true => "the noise of the completed starts is recorded",
        false => "nothing is recorded, because too few starts completed",
    };
    let message = match failure.exit {
        // The rest of the message is about the results of a run.
        Exit::Interrupted if failure.message.starts_with("interrupted") => "interrupted",
        _ => &failure.message,
    };
    Failure {
        message: format!("{message}; {note}"),
        ..failure
    }
}

fn shown(noise: &Noise) -> String {
    let pairs = noise.pairs(2.0);
    let half = [6, 10, 20].map(|starts| {
        let boundary = Boundary::new(&looks(starts));
        let half = noise.half_width_pct(pairs, starts, (&boundary, ERROR_RATE));
        format!("{half:.1} % after {starts} starts")
    });
    format!(
        "noise of this host, over all recorded runs: {:.1} % between pairs of turns, {:.1} % between starts\n\
         expected half width with {pairs} pairs per start: {}",
        100.0 * noise.sd_pair,
        100.0 * noise.sd_start,
        half.join(", ")
    )
}

/// The engine, and the trials of two identical servers.
fn identical(time: Duration, trials: &[Trial], lab: &Lab) -> Result<(String, Vec<Trial>), Failure> {
    let named = trials.iter().find_map(|trial| match &trial.target {
        Target::Private(spec) => Some(spec.engine.value.clone()),
        _ => None,
    });
    let engines = match &named {
        Some(name) => vec![name.as_str()],
        None if trials.is_empty() => engine::servers().map(|server| server.name()).collect(),
        None => {
            let message = "--noise needs servers that dyno starts; the study has none";
            let remedy = "omit --study: the noise is that of the host";
            return Err(Failure::usage(message).remedy(remedy));
        }
    };
    let none = "no engine is installed whose servers can take turns";
    let mut missing = Failure::usage(none);
    for engine in engines {
        let trials = PlannedStudy::of(study_of(engine, time)?, "".as_ref())?.trials(lab)?;
        if let Target::Private(spec) = &trials[0].target {
            match lab::installed(spec) {
                Ok(_) => return Ok((engine.to_owned(), trials)),
                Err(failure) => missing = failure,
            }
        }
    }
    Err(match named {
        Some(_) => missing,
        None => Failure {
            message: none.to_owned(),
            ..missing
        },
    })
}

fn study_of(engine: &str, time: Duration) -> Result<Study, Failure> {
    let starts = (time.div_duration_f64(START) as u32).clamp(2, MOST_STARTS);
    let each_ms = (time / starts / 2).as_millis();
    let text = format!(
        "title = 'noise'\n[server]\nengine = '{engine}'\n[data]\nrows = 10_000\n\
         [load]\nworkload = 'oltp_point_select'\nthreads = 4\nwarmup = '1s'\ntime = '{each_ms}ms'\n\
         [compare]\nstarts = {starts}\nbudget = '2h'\nalternate = 'always'\n\
         [[variant]]\nname = 'one'\n[[variant]]\nname = 'other'\n"
    );
    Study::parse("dyno doctor", &text, engine::catalog()).map_err(Failure::internal)
}

/// Keeps only the summaries of completed trials, in memory.
struct Collected {
    dir: PathBuf,
    files: u32,
    began: Instant,
    trials: Vec<TrialSummary>,
    /// Time until the last of these trials completed.
    spent: Duration,
}

impl Observer for Collected {
    fn server_dir(&mut self, _: u32) -> Result<PathBuf, Failure> {
        self.files += 1;
        let dir = self.dir.join(self.files.to_string());
        fs::create_dir_all(&dir).map_err(Failure::at("create", &dir))?;
        Ok(dir)
    }

    fn ledger_file(&mut self, instance: u32) -> Result<PathBuf, Failure> {
        Ok(self.dir.join(format!("ledger{instance}")))
    }

    fn end(&mut self, summary: TrialSummary) -> Result<(), Failure> {
        if summary.outcome == Outcome::Completed {
            self.trials.push(summary);
            self.spent = self.began.elapsed();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
