//! The laws of scaling for spreadsheets and programs.

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::scale::Scaling;

use super::{Ladder, Scale};
use crate::csv_writer::Csv;

/// A line for each number: what was measured, the laws' parameters, and what they make of
/// each size. `None` of a study that varies no size.
pub fn csv(result: &RunResult) -> Option<String> {
    let scale = Scale::of(result)?;
    let mut csv = Csv::default();
    csv.names("of law number");
    csv.text(&scale.key);
    csv.names("value half_width reason");
    csv.end_line();
    for ladder in &scale.ladders {
        let mut lines = Lines { csv, ladder };
        lines.measured();
        match &ladder.law {
            Ok(law) => lines.laws(law),
            Err(reason) => lines.line("usl", "none", None, None, &reason.to_string()),
        }
        csv = lines.csv;
    }
    Some(csv.text)
}

struct Lines<'a> {
    csv: Csv,
    ladder: &'a Ladder,
}

impl Lines<'_> {
    fn line(
        &mut self,
        law: &str,
        number: &str,
        size: Option<f64>,
        value: Option<Estimate>,
        reason: &str,
    ) {
        self.csv.text(&self.ladder.name);
        self.csv.text(law);
        self.csv.text(number);
        self.csv.number(size);
        self.csv.estimate(value);
        self.csv.text(reason);
        self.csv.end_line();
    }

    fn number(&mut self, law: &str, number: &str, value: Estimate) {
        self.line(law, number, None, Some(value), "");
    }

    fn measured(&mut self) {
        for rung in &self.ladder.rungs {
            self.line("measured", "tps", Some(rung.size), rung.tps.estimate, "");
        }
    }

    fn laws(&mut self, law: &Scaling) {
        self.number("usl", "alone_per_s", law.alone_per_s);
        self.number("usl", "contention", law.contention);
        self.number("usl", "coherency", law.coherency);
        self.number("usl", "r_squared", Estimate::exact(law.r_squared));
        if let Some(peak) = law.peak {
            self.number("usl", "peak_at", peak.size);
            self.number("usl", "peak_per_s", peak.per_s);
        }
        for (name, serial) in [("amdahl", law.amdahl), ("gustafson", law.gustafson)] {
            if let Some(serial) = serial {
                self.number(name, "alone_per_s", serial.alone_per_s);
                self.number(name, "serial", serial.share);
                self.number(name, "r_squared", Estimate::exact(serial.r_squared));
            }
        }
        for rung in &self.ladder.rungs {
            let size = rung.size;
            let fitted = [
                ("usl", Some(law.per_s(size))),
                ("amdahl", law.amdahl_per_s(size)),
                ("gustafson", law.gustafson_per_s(size)),
            ];
            for (name, per_s) in fitted {
                self.line(name, "tps", Some(size), per_s.map(Estimate::exact), "");
            }
        }
    }
}
