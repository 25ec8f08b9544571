//! What the client knows about its transfers, and the stored form: one JSON object per line,
//! appended as it happens.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};

use super::Transfer;

pub const MAX_LINE_BYTES: u64 = 4096;
const MAX_LINES: u64 = 50_000_000;

/// A line of a stored history. Times are in seconds on the trial's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Record {
    Opened(Opening),
    Begun {
        at_s: f64,
        #[serde(flatten)]
        transfer: Transfer,
    },
    Ended {
        at_s: f64,
        user: i64,
        sequence: i64,
        fate: Fate,
        /// The error; `None` if the transfer was acknowledged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A transaction begins that reads one list and appends a value to another.
    Appending {
        at_s: f64,
        #[serde(flatten)]
        append: Appending,
    },
    Appended {
        at_s: f64,
        value: i64,
        fate: Fate,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Vec<i64>>,
    },
    Read(Read),
}

impl Record {
    /// The line, with its newline. Long error messages are truncated, so that the line can be read
    /// again.
    pub fn line(mut self) -> Vec<u8> {
        const MAX_ERROR_CHARS: usize = 300;
        if let Self::Ended {
            error: Some(error), ..
        } = &mut self
            && let Some((cut, _)) = error.char_indices().nth(MAX_ERROR_CHARS)
        {
            error.truncate(cut);
        }
        // Only maps with keys other than strings cannot be written.
        let mut line = serde_json::to_vec(&self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Number of accounts. They are numbered from 1.
    pub accounts: i64,
    pub balance: i64,
}

/// A read of a member: the highest sequence of one user that the member has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// When the read began, in seconds on the trial's clock.
    pub at_s: f64,
    /// Number of the member, counted from 1.
    pub member: u32,
    pub user: i64,
    /// 0 if the member has no transfer of the user.
    pub sequence: i64,
}

/// How a transfer ended, as far as the client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The server confirmed the commit.
    Acknowledged,
    /// The transfer was rolled back, or its commit was never sent.
    Failed,
    /// The commit was sent, and no reply says what became of it.
    Unknown,
}

/// A transaction that reads one list and appends a value to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Appending {
    /// Number of the user, counted from 1.
    pub user: i64,
    pub read: i64,
    pub list: i64,
    /// The value, which is unique among all transactions.
    pub value: i64,
    /// What the list that was read contained.
    #[serde(skip)]
    pub found: Option<Vec<i64>>,
}

/// A transaction as the client knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<What = Transfer> {
    pub what: What,
    /// When the transaction began, in seconds on the trial's clock.
    pub begun_s: f64,
    /// When the transaction ended; `None` if that was not recorded.
    pub ended_s: Option<f64>,
    pub fate: Fate,
}

/// Transactions in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(super) struct Log<Id, What> {
    pub(super) entries: Vec<Entry<What>>,
    by_id: HashMap<Id, usize>,
}

impl<Id: Hash + Eq, What> Log<Id, What> {
    /// Returns false for one that began before.
    fn begin(&mut self, id: Id, at_s: f64, what: What) -> bool {
        let is_new = self.by_id.insert(id, self.entries.len()).is_none();
        self.entries.push(Entry {
            what,
            begun_s: at_s,
            ended_s: None,
            fate: Fate::Unknown,
        });
        is_new
    }

    /// `None` for one that is not running.
    fn end(&mut self, id: &Id, at_s: f64, fate: Fate) -> Option<&mut What> {
        let entry = self.entries.get_mut(*self.by_id.get(id)?)?;
        if entry.ended_s.is_some() {
            return None;
        }
        (entry.ended_s, entry.fate) = (Some(at_s), fate);
        Some(&mut entry.what)
    }

    fn last_s(&self) -> f64 {
        let ends = self.entries.iter();
        let ends = ends.map(|entry| entry.ended_s.unwrap_or(entry.begun_s));
        ends.fold(0.0, f64::max)
    }
}

/// What the client knows about all transactions.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub opening: Opening,
    /// By user and sequence.
    transfers: Log<(i64, i64), Transfer>,
    /// Reads of members, in order of time for each member.
    pub reads: Vec<Read>,
    /// Transactions on lists, by their value.
    pub(super) appends: Log<i64, Appending>,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("line {line}: {problem}")]
    Line {
        /// Number of the line, counted from 1.
        line: u64,
        problem: String,
    },
}

impl History {
    /// Reads a stored history. A last line without a newline does not count: it was being written
    /// when the writer died. A transfer without an end has an unknown outcome.
    pub fn read(mut file: impl BufRead) -> Result<Self, HistoryError> {
        let mut history = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            let at = |problem: String| HistoryError::Line {
                line: number,
                problem,
            };
            line.clear();
            let mut limited = file.by_ref().take(MAX_LINE_BYTES);
            limited.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                if line.len() as u64 == MAX_LINE_BYTES {
                    return Err(at(format!("longer than {MAX_LINE_BYTES} bytes")));
                }
                break;
            }
            if number > MAX_LINES {
                return Err(at(format!("more than {MAX_LINES} lines")));
            }
            let record = serde_json::from_slice(&line).map_err(|error| at(error.to_string()))?;
            match (record, number) {
                (Record::Opened(opening), 1) => history.opening = opening,
                (Record::Opened(_), _) => return Err(at("a second opening".to_owned())),
                (_, 1) => return Err(at("the opening is missing".to_owned())),
                (record, _) => history.add(record).map_err(at)?,
            }
        }
        Ok(history)
    }

    fn add(&mut self, record: Record) -> Result<(), String> {
        match record {
            Record::Opened(opening) => self.opening = opening,
            Record::Read(read) => self.reads.push(read),
            Record::Begun { at_s, transfer } => {
                let id = (transfer.user, transfer.sequence);
                if !self.transfers.begin(id, at_s, transfer) {
                    return Err(format!("{transfer} begins again"));
                }
            }
            Record::Ended {
                at_s,
                user,
                sequence,
                fate,
                ..
            } => {
                let ended = self.transfers.end(&(user, sequence), at_s, fate);
                ended.ok_or_else(|| {
                    format!("transfer {sequence} of user {user} ends and is not running")
                })?;
            }
            Record::Appending { at_s, append } => {
                let value = append.value;
                if !self.appends.begin(value, at_s, append) {
                    return Err(format!("{value} is appended again"));
                }
            }
            Record::Appended {
                at_s,
                value,
                fate,
                found,
            } => {
                let ended = self.appends.end(&value, at_s, fate);
                ended
                    .ok_or_else(|| format!("the append of {value} ends and is not running"))?
                    .found = found;
            }
        }
        Ok(())
    }

    /// In the order in which they began.
    pub fn entries(&self) -> &[Entry] {
        &self.transfers.entries
    }

    /// Time of the last event, in seconds on the trial's clock; 0 without events.
    pub fn last_s(&self) -> f64 {
        let reads = self.reads.iter().map(|read| read.at_s);
        let ends = [self.transfers.last_s(), self.appends.last_s()];
        reads.chain(ends).fold(0.0, f64::max)
    }

    pub fn find(&self, user: i64, sequence: i64) -> Option<&Entry> {
        let place = self.transfers.by_id.get(&(user, sequence))?;
        self.transfers.entries.get(*place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSFER: Transfer = Transfer {
        user: 1,
        sequence: 1,
        from: 7,
        to: 8,
        amount: 3,
    };

    fn stored(records: Vec<Record>) -> Vec<u8> {
        records.into_iter().flat_map(Record::line).collect()
    }

    fn example() -> Vec<Record> {
        let opening = Opening {
            accounts: 10,
            balance: 100,
        };
        vec![
            Record::Opened(opening),
            Record::Begun {
                at_s: 1.25,
                transfer: TRANSFER,
            },
            Record::Read(Read {
                at_s: 1.5,
                member: 2,
                user: 1,
                sequence: 0,
            }),
            Record::Ended {
                at_s: 1.75,
                user: 1,
                sequence: 1,
                fate: Fate::Acknowledged,
                error: None,
            },
        ]
    }

    /// At whatever byte the writer died, exactly the complete lines count.
    #[test]
    fn a_history_is_read_up_to_the_last_complete_line() {
        let bytes = stored(example());
        let ends: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] == b'\n').collect();
        for length in 0..=bytes.len() {
            let history = History::read(&bytes[..length]).unwrap();
            let lines = ends.iter().filter(|&&end| end < length).count();
            let expected = match lines {
                0 | 1 => None,
                2 | 3 => Some((Fate::Unknown, None)),
                _ => Some((Fate::Acknowledged, Some(1.75))),
            };
            let entry = history.find(1, 1);
            assert_eq!(entry.map(|entry| (entry.fate, entry.ended_s)), expected);
            assert!(entry.is_none_or(|entry| entry.what == TRANSFER));
            assert_eq!(history.reads.len(), usize::from(lines >= 3));
            assert_eq!(history.opening.accounts, if lines > 0 { 10 } else { 0 });
        }
    }

    #[test]
    fn a_history_that_contradicts_itself_is_refused_with_its_line() {
        let refused = |records: Vec<Record>| History::read(&*stored(records)).unwrap_err();
        let [opened, begun, _, ended]: [Record; 4] = example().try_into().unwrap();
        for (records, words) in [
            (vec![begun.clone()], "line 1: the opening is missing"),
            (vec![opened.clone(), opened.clone()], "line 2: a second"),
            (vec![opened.clone(), begun.clone(), begun.clone()], "line 3"),
            (vec![opened.clone(), ended.clone()], "line 2: transfer 1"),
            (
                vec![opened.clone(), begun, ended.clone(), ended],
                "line 4: transfer 1 of user 1 ends and is not running",
            ),
        ] {
            let error = refused(records).to_string();
            assert!(error.starts_with(words), "{error}");
        }
        let mut bytes = stored(vec![opened]);
        bytes.extend(b"{\"event\":\"begun\"}\n");
        let error = History::read(&*bytes).unwrap_err().to_string();
        assert!(error.starts_with("line 2: "), "{error}");
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let error = History::read(endless).unwrap_err().to_string();
        assert!(error.contains("longer than 4096 bytes"), "{error}");
    }

    #[test]
    fn the_longest_error_fits_in_a_line() {
        let [opened, begun, _, _]: [Record; 4] = example().try_into().unwrap();
        let ended = Record::Ended {
            at_s: 2.0,
            user: 1,
            sequence: 1,
            fate: Fate::Failed,
            error: Some("\u{1}é\n".repeat(10_000)),
        };
        let history = History::read(&*stored(vec![opened, begun, ended])).unwrap();
        assert_eq!(history.find(1, 1).unwrap().fate, Fate::Failed);
    }
}
