//! Progress and messages on stderr while dyno works.

use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use engine::data::{Prepared, Progress};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use measure::digits::apart;
use measure::series::SeriesPoint;
use measure::setup::Outcome;
use measure::slice::{Phase, Second};
use measure::summary::TrialSummary;
use plan::format_duration;

use crate::cli::OutputArgs;
use crate::console::{self, eprint};

/// How much is printed while a load runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Warnings.
    Nothing,
    /// A line every second.
    Seconds,
    /// A progress bar on a terminal; otherwise nothing during a trial.
    Bar,
}

/// Progress on the terminal, or as lines in a log.
pub(crate) struct Screen {
    detail: Detail,
    /// Whether a line is printed at the end of each trial.
    shows_trials: bool,
    is_terminal: bool,
    /// The current trial, shown before the text of the bar.
    title: String,
    bar: Option<ProgressBar>,
    stage: BarStage,
    last_line: Instant,
    /// The planned length of the current trial's load.
    load: Duration,
    left: TimeLeft,
}

/// How long the trials of a study will take, from their planned loads and from how much longer the
/// trials so far took than their loads.
#[derive(Debug, Clone, Copy)]
struct TimeLeft {
    since: Instant,
    /// The load of all trials; zero if it is unknown.
    planned: Duration,
    /// The load of the trials before the current one.
    done: Duration,
}

impl TimeLeft {
    /// `4m left`, when the current load has run for `in_trial`.
    fn shown(&self, elapsed: Duration, in_trial: Duration) -> Option<String> {
        let run = self.done + in_trial;
        let rest = self
            .planned
            .checked_sub(run)
            .filter(|rest| !rest.is_zero())?;
        let slower = (elapsed.as_secs_f64() / run.as_secs_f64()).clamp(1.0, 100.0);
        let left = Duration::from_secs(rest.mul_f64(slower).as_secs().max(1));
        let rounded = match left.as_secs() {
            short @ 0..120 => short,
            long => long / 60 * 60,
        };
        Some(format!(
            "{} left",
            format_duration(Duration::from_secs(rounded))
        ))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BarStage {
    Nothing,
    Working,
    Preparing,
    Indexing,
    Connecting,
    Running,
    Draining,
}

/// A second of this length means that dyno was suspended.
const LONG_SECOND_S: f64 = 1.5;

/// Without a terminal, a line is printed this often during long work.
const LOG_EVERY: Duration = Duration::from_secs(5);

impl Screen {
    pub(crate) fn new(detail: Detail) -> Self {
        Self {
            detail,
            shows_trials: false,
            is_terminal: std::io::stderr().is_terminal() && detail != Detail::Nothing,
            title: String::new(),
            bar: None,
            stage: BarStage::Nothing,
            last_line: Instant::now(),
            load: Duration::ZERO,
            left: TimeLeft {
                since: Instant::now(),
                planned: Duration::ZERO,
                done: Duration::ZERO,
            },
        }
    }

    /// Sets the load time of all trials, from which the time left follows.
    pub(crate) fn expect(&mut self, planned: Duration) {
        self.left.since = Instant::now();
        self.left.planned = planned;
    }

    /// Takes the load time of a trial that is not needed from what is left.
    pub(crate) fn skip(&mut self, length: Duration) {
        self.left.planned = self.left.planned.saturating_sub(length);
    }

    /// The screen of a run: of one trial, or of several with a line at the end of each.
    pub(crate) fn of_run(output: &OutputArgs, shows_trials: bool) -> Self {
        let detail = match (output.quiet, output.verbose || !shows_trials) {
            (true, _) => Detail::Nothing,
            (false, true) => Detail::Seconds,
            (false, false) => Detail::Bar,
        };
        Self {
            shows_trials,
            ..Self::new(detail)
        }
    }

    pub(crate) fn trial_ended(&mut self, summary: &TrialSummary) {
        self.left.done += self.load;
        if self.shows_trials {
            let tps = summary.transactions.per_s.map_or(0.0, |rate| rate.value);
            let p99 = summary.response_ms.map_or(0.0, |response| response.p99);
            let warnings = match summary.warnings.len() {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                several => format!(", {several} warnings"),
            };
            let text = match &summary.outcome {
                outcome @ (Outcome::Failed { .. } | Outcome::ServerLost { .. }) => {
                    outcome.to_string()
                }
                _ => format!("{tps:.1} tps, p99 {p99:.2} ms{warnings}"),
            };
            self.line(&format!("{}{text}", self.title));
        }
    }

    /// Shows another of the trials that take turns.
    pub(crate) fn set_title(&mut self, title: &str) {
        self.title = console::printable(title);
    }

    pub(crate) fn trial(&mut self, title: &str, load: Duration) {
        self.finish_stage();
        self.set_title(title);
        self.load = load;
        if self.shows_trials && self.detail == Detail::Seconds {
            self.line(self.title.trim_end());
        }
    }

    /// Prints a line above the bar, unless only warnings are printed.
    pub(crate) fn line(&self, text: &str) {
        if self.detail != Detail::Nothing {
            self.warn(text);
        }
    }

    /// Prints a line at every level of detail.
    pub(crate) fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) if self.is_terminal => bar.suspend(|| eprint(text)),
            _ => eprint(text),
        }
    }

    pub(crate) fn finish_stage(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.stage = BarStage::Nothing;
    }

    /// The bar of `stage`, created when the stage begins.
    fn bar(&mut self, stage: BarStage, length: u64, template: &str) -> &ProgressBar {
        if self.stage != stage {
            self.finish_stage();
            self.stage = stage;
            // The first line is due after some seconds as well.
            self.last_line = Instant::now();
        }
        let (is_terminal, title) = (self.is_terminal, self.title.clone());
        self.bar.get_or_insert_with(|| {
            let bar = if is_terminal {
                ProgressBar::new(length)
            } else {
                ProgressBar::hidden()
            };
            // The templates are constants; a test parses them.
            if let Ok(style) = style(template) {
                bar.set_style(style);
            }
            bar.set_prefix(prefix(&title).to_owned());
            bar
        })
    }

    /// Shows work of unknown length.
    pub(crate) fn stage(&mut self, what: &str) {
        if self.is_terminal {
            let bar = self.bar(BarStage::Working, 0, SPIN_TEMPLATE);
            bar.set_message(console::printable(what));
            bar.enable_steady_tick(SPIN_INTERVAL);
        }
    }

    pub(crate) fn preparing(&mut self, news: &Progress) {
        match news {
            Progress::Note(text) => self.line(&format!("note: {text}")),
            Progress::Loading { rows, of } => {
                let (rows, of) = (*rows, *of);
                let bar = self.bar(BarStage::Preparing, of, ROWS_TEMPLATE);
                bar.set_position(rows);
                let (rate, left) = (rate(rows, bar.elapsed()), bar.eta());
                self.log(|| {
                    let left_s = left.as_secs();
                    format!("loading: {rows} of {of} rows{rate}, {left_s} s left")
                });
            }
            Progress::Running { what, statements } => {
                let text = format!("{what}: {statements} statements");
                self.spin(BarStage::Working, text);
            }
            Progress::Indexing { tables, of } => self.spin(
                BarStage::Indexing,
                format!("creating indexes: {tables} of {of} tables done"),
            ),
        }
    }

    pub(crate) fn prepared(&mut self, prepared: &Prepared) {
        self.finish_stage();
        if prepared.loaded > 0 && prepared.is_of_script {
            self.line("data: prepared by the script");
        } else if prepared.loaded > 0 && self.detail == Detail::Seconds {
            let found = match prepared.found {
                0 => String::new(),
                found => format!("; {found} already existed"),
            };
            let plural = if prepared.loaded == 1 { "" } else { "s" };
            self.line(&format!(
                "data: loaded {} table{plural}, {} rows{found}",
                prepared.loaded, prepared.rows
            ));
        }
    }

    pub(crate) fn connecting(&mut self, open: u32, users: u32) {
        let bar = self.bar(BarStage::Connecting, u64::from(users), CONNECT_TEMPLATE);
        bar.set_position(u64::from(open));
        if open == users {
            self.finish_stage();
        } else {
            self.log(|| format!("connecting: {open} of {users}"));
        }
    }

    /// A second of one of `trials` that take turns.
    pub(crate) fn second(&mut self, second: &Second, trials: usize) {
        if second.phase == Phase::Drain {
            return self.finish_stage();
        }
        let point = SeriesPoint::from(second);
        let text = live_line(&point);
        match self.detail {
            Detail::Nothing => {}
            // Variants that take turns alternate their lines.
            Detail::Seconds if trials > 1 => self.line(&format!("{}{}", self.title, text.trim())),
            Detail::Seconds => self.line(&text),
            Detail::Bar => {
                let in_trial = Duration::from_nanos(second.end_ns);
                let left = self.left.shown(self.left.since.elapsed(), in_trial);
                let label = self.title[prefix(&self.title).len()..].trim().to_owned();
                let parts = [Some(text.trim().to_owned()), left, Some(label)];
                let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
                let text = parts.collect::<Vec<_>>().join("  ");
                let whole = self.load.as_millis() as u64 * trials as u64;
                let bar = self.bar(BarStage::Running, whole, RUN_TEMPLATE);
                bar.set_position(second.end_ns / 1_000_000);
                bar.set_message(text);
            }
        }
    }

    /// Shows that the load has ended and waits for running transactions.
    pub(crate) fn draining(&mut self, running: usize) {
        let text = format!("waiting for running transactions: {running}");
        self.spin(BarStage::Draining, text);
    }

    /// Shows a spinner with what is done, or logs it.
    fn spin(&mut self, stage: BarStage, text: String) {
        let bar = self.bar(stage, 0, SPIN_TEMPLATE);
        bar.set_message(text.clone());
        self.log(|| text);
    }

    /// Prints a line every few seconds if stderr is not a terminal.
    fn log(&mut self, text: impl FnOnce() -> String) {
        if !self.is_terminal && self.last_line.elapsed() >= LOG_EVERY {
            self.last_line = Instant::now();
            self.line(&text());
        }
    }
}

/// The style of a bar, in characters that the terminal can show.
fn style(template: &str) -> Result<ProgressStyle, indicatif::style::TemplateError> {
    let style = ProgressStyle::with_template(template)?;
    let style = style.with_key("rate", |bar: &ProgressState, text: &mut dyn fmt::Write| {
        // Nothing can be done about a terminal that is gone.
        let _ = text.write_str(&rate(bar.pos(), bar.elapsed()));
    });
    Ok(match *console::ASCII {
        true => style.progress_chars("##-").tick_chars("-\\|/ "),
        false => style,
    })
}

const ROWS_TEMPLATE: &str =
    "{prefix}loading {bar:30} {human_pos}/{human_len} rows{rate}, {eta} left";
/// How often the spinner of a task of unknown length moves.
const SPIN_INTERVAL: Duration = Duration::from_millis(200);
const SPIN_TEMPLATE: &str = "{prefix}{spinner} {msg} ({elapsed})";
const CONNECT_TEMPLATE: &str = "{prefix}connecting {bar:30} {human_pos}/{human_len}";
const RUN_TEMPLATE: &str = "{prefix}{bar:10} {wide_msg}";

/// `, 6,667 rows/s`: since the beginning, rounded: of the moment, it would be that of the batch which
/// just ended. Nothing in the first second.
fn rate(rows: u64, elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        short if short < 1.0 => String::new(),
        seconds => format!(
            ", {} rows/s",
            apart(&format!("{:.0}", rows as f64 / seconds))
        ),
    }
}

/// The place of a trial among all: numbers come before its long label.
fn prefix(title: &str) -> &str {
    title.split_inclusive("] ").next().unwrap_or_default()
}

/// `  12 s  measure    1,234 tps  p95 4.210 ms  p99 8.100 ms`: what matters most comes first, on less
/// than 80 columns.
fn live_line(point: &SeriesPoint) -> String {
    let phase = match point.phase {
        Phase::Warmup => "warm-up",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
    };
    let mut text = format!(
        "{:>5.0} s  {phase}  {:>8.1} tps",
        point.t_s + point.seconds,
        point.tps.unwrap_or_default(),
    );
    if let Some(response) = &point.response_ms {
        text.push_str(&format!(
            "  p95 {:.2} ms  p99 {:.2} ms",
            response.p95, response.p99
        ));
    }
    if point.seconds >= LONG_SECOND_S {
        text.push_str(&format!("  over {:.1} s", point.seconds));
    }
    if let Some(backlog) = point.backlog {
        text.push_str(&format!("  backlog {backlog}"));
    }
    let failed = point.errors.saturating_sub(point.restarts);
    for (count, name) in [
        (failed, "error"),
        (point.restarts, "restart"),
        (point.reconnects, "reconnect"),
    ] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            text.push_str(&format!("  {count} {name}{plural}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_all_trials() {
        let s = Duration::from_secs;
        let left = TimeLeft {
            since: Instant::now(),
            planned: s(600),
            done: s(60),
        };
        // Of 600 s, 100 s of load took 150 s, so the remaining 500 s will take 750 s.
        assert_eq!(left.shown(s(150), s(40)).as_deref(), Some("12m left"));
        assert_eq!(left.shown(s(560), s(500)).as_deref(), Some("40s left"));
        let unknown = TimeLeft {
            planned: Duration::ZERO,
            ..left
        };
        assert_eq!(unknown.shown(s(150), s(40)), None);
    }

    #[test]
    fn a_label_comes_after_the_numbers() {
        assert_eq!(prefix("[3/12] threads=4, variant=x  "), "[3/12] ");
        assert_eq!(prefix(""), "");
    }

    #[test]
    fn a_rate_is_bounded_and_rounded() {
        let rows = |seconds| rate(10_000, Duration::from_secs_f64(seconds));
        assert_eq!(rows(0.000_1), "");
        assert_eq!(rows(1.5), ", 6,667 rows/s");
    }

    #[test]
    fn the_templates_of_the_bars_are_valid() {
        for template in [ROWS_TEMPLATE, SPIN_TEMPLATE, CONNECT_TEMPLATE, RUN_TEMPLATE] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
