//! `dyno doctor --noise`: how much identical servers differ on this host when they take turns.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::{Lab, Observer, Run, Target, Trial};
use measure::compare::{Boundary, ERROR_RATE};
use measure::find_max::FoundMax;
use measure::summary::TrialSummary;
use study::Study;

use crate::console::{eprint, print};
use crate::failure::Failure;
use crate::study_file::PlannedStudy;
use crate::{noise, results, signals};

/// Each start of both servers has two pairs of turns at least.
const SHORTEST: Duration = Duration::from_secs(8);
const MOST_STARTS: u32 = 10;
/// Aimed at: long enough for several pairs.
const START: Duration = Duration::from_secs(10);

/// Measures for so long, keeps what it finds, and prints it. `trials` of a study name the engine;
/// otherwise, it is the first that is installed.
pub(crate) fn measure(time: Duration, trials: &[Trial]) -> Result<(), Failure> {
    if time < SHORTEST {
        return Err(
            Failure::usage("--noise is too short: two starts of two servers need 8s")
                .remedy("give it 60s or more"),
        );
    }
    let mut lab = Lab::default();
    let (engine, trials) = identical(time, trials, &lab)?;
    eprint(&format!(
        "measuring with two identical {engine} servers, which take turns"
    ));
    let interrupted = signals::interruption()?;
    let mut observer = Collected {
        dir: lab.home()?.new_path("noise"),
        files: 0,
        trials: Vec::new(),
    };
    let began = Instant::now();
    let mut run = Run {
        observer: &mut observer,
        interrupted: &interrupted,
    };
    lab::run(&mut lab, &trials, &mut run)?;
    noise::keep(
        &results::environment(&[]),
        &observer.trials,
        began.elapsed(),
    )?;
    let noise = noise::known().map_err(Failure::internal)?;
    let pairs = noise.pairs(2.0);
    let half = [6, 10, 20].map(|starts| {
        let boundary = Boundary::new(&[starts]);
        let half = noise.half_width_pct(pairs, starts, (&boundary, ERROR_RATE));
        format!("{half:.1} % after {starts} starts")
    });
    print(&format!(
        "noise of this host, over all kept runs: {:.1} % from pair to pair of turns, {:.1} % from start to start\n\
         half width to expect with {pairs} pairs in a start: {}",
        100.0 * noise.sd_pair,
        100.0 * noise.sd_start,
        half.join(", ")
    ))
}

/// The engine, and the trials of two of its servers.
fn identical(time: Duration, trials: &[Trial], lab: &Lab) -> Result<(String, Vec<Trial>), Failure> {
    let named = trials.iter().find_map(|trial| match &trial.target {
        Target::Private(spec) => Some(spec.engine.value.clone()),
        _ => None,
    });
    let engines = match &named {
        Some(name) => vec![name.as_str()],
        None => engine::servers().map(|server| server.name()).collect(),
    };
    let mut missing = Failure::usage("no engine takes turns");
    for engine in engines {
        let trials = PlannedStudy::of(study_of(engine, time)?).trials(lab)?;
        if let Target::Private(spec) = &trials[0].target {
            match lab::installed(spec) {
                Ok(_) => return Ok((engine.to_owned(), trials)),
                Err(failure) => missing = failure,
            }
        }
    }
    Err(missing)
}

fn study_of(engine: &str, time: Duration) -> Result<Study, Failure> {
    let starts = (time.div_duration_f64(START) as u32).clamp(2, MOST_STARTS);
    let each_ms = (time / starts / 2).as_millis();
    let text = format!(
        "title = 'noise'\n[server]\nengine = '{engine}'\n[data]\nrows = 10_000\n\
         [load]\nworkload = 'oltp_point_select'\nthreads = 4\nwarmup = '1s'\ntime = '{each_ms}ms'\n\
         [compare]\nstarts = {starts}\nalternate = 'always'\n\
         [[variant]]\nname = 'one'\n[[variant]]\nname = 'other'\n"
    );
    Study::parse("dyno doctor", &text, engine::catalog()).map_err(Failure::internal)
}

/// Keeps the summaries of trials in memory, and no more.
struct Collected {
    dir: PathBuf,
    files: u32,
    trials: Vec<TrialSummary>,
}

impl Observer for Collected {
    fn begin(&mut self, _: &Trial) -> Result<(), Failure> {
        Ok(())
    }

    fn select(&mut self, _: &Trial) {}

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
        self.trials.push(summary);
        Ok(())
    }

    fn found(&mut self, _: FoundMax) -> Result<(), Failure> {
        Ok(())
    }
}
