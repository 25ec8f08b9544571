//! The history of the ledger's lists in the form that Elle reads (list-append, EDN): a map per line,
//! which `elle-cli --model list-append` checks for cycles that no isolation level allows.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::history::{Appending, Fate, History};

/// A line for each beginning and end of a transaction, in order of time. A final transaction reads
/// the lists that the primary has, if there is a primary.
pub fn edn(history: &History, lists: Option<&[(i64, Vec<i64>)]>) -> String {
    let mut events: Vec<(f64, String)> = Vec::new();
    // A process whose transaction has an unknown outcome is not used again.
    let mut crashes: HashMap<i64, i64> = HashMap::new();
    for one in &history.appends.entries {
        let crashed = crashes.entry(one.what.user).or_default();
        let process = *crashed * PROCESSES + one.what.user;
        *crashed += i64::from(one.fate == Fate::Unknown);
        let kind = match one.fate {
            Fate::Acknowledged => "ok",
            Fate::Failed => "fail",
            Fate::Unknown => "info",
        };
        let found = one.what.found.as_ref();
        let found = found.filter(|_| one.fate == Fate::Acknowledged);
        let invoked = event("invoke", process, one.begun_s, &value(&one.what, None));
        events.push((one.begun_s, invoked));
        let shown_s = one.ended_s.unwrap_or(one.begun_s);
        let ended = event(kind, process, shown_s, &value(&one.what, found));
        events.push((one.ended_s.unwrap_or(f64::MAX), ended));
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    let last_s = history.last_s();
    if let Some(lists) = lists {
        let reads = |of: &dyn Fn(&[i64]) -> String| {
            let reads = lists
                .iter()
                .map(|(list, items)| format!("[:r {list} {}]", of(items)));
            reads.collect::<Vec<_>>().join(" ")
        };
        let asked = reads(&|_| "nil".to_owned());
        events.push((f64::MAX, event("invoke", 0, last_s, &asked)));
        events.push((f64::MAX, event("ok", 0, last_s, &reads(&vector))));
    }
    let mut text = String::new();
    for (index, (_, event)) in events.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{{:index {index}, {event}}}");
    }
    text
}

/// More than there are users.
const PROCESSES: i64 = 1000;

fn event(kind: &str, process: i64, at_s: f64, value: &str) -> String {
    let time_ns = (at_s * 1e9).round();
    format!(":type :{kind}, :process {process}, :f :txn, :time {time_ns:.0}, :value [{value}]")
}

/// A transaction's read, followed by its append.
fn value(one: &Appending, found: Option<&Vec<i64>>) -> String {
    let read = found.map_or("nil".to_owned(), |found| vector(found));
    format!(
        "[:r {} {read}] [:append {} {}]",
        one.read, one.list, one.value
    )
}

fn vector(items: &[i64]) -> String {
    let items: Vec<String> = items.iter().map(i64::to_string).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    fn appending(user: i64, begun_s: f64, ended_s: Option<f64>, fate: Fate) -> Entry<Appending> {
        let what = Appending {
            user,
            read: 7,
            list: 8,
            value: 10 * user,
            found: Some(vec![3, 4]),
        };
        Entry {
            what,
            begun_s,
            ended_s,
            fate,
        }
    }

    #[test]
    fn a_history_is_a_line_for_each_event_in_order_of_time() {
        let mut history = History::default();
        history.appends.entries = vec![
            appending(1, 1.0, Some(1.5), Fate::Acknowledged),
            appending(2, 1.25, Some(2.0), Fate::Failed),
            appending(1, 1.75, None, Fate::Unknown),
            appending(1, 3.0, Some(3.5), Fate::Acknowledged),
        ];
        let text = edn(&history, Some(&[(7, vec![3, 4]), (8, vec![])]));
        let expected = "\
{:index 0, :type :invoke, :process 1, :f :txn, :time 1000000000, :value [[:r 7 nil] [:append 8 10]]}
{:index 1, :type :invoke, :process 2, :f :txn, :time 1250000000, :value [[:r 7 nil] [:append 8 20]]}
{:index 2, :type :ok, :process 1, :f :txn, :time 1500000000, :value [[:r 7 [3 4]] [:append 8 10]]}
{:index 3, :type :invoke, :process 1, :f :txn, :time 1750000000, :value [[:r 7 nil] [:append 8 10]]}
{:index 4, :type :fail, :process 2, :f :txn, :time 2000000000, :value [[:r 7 nil] [:append 8 20]]}
{:index 5, :type :invoke, :process 1001, :f :txn, :time 3000000000, :value [[:r 7 nil] [:append 8 10]]}
{:index 6, :type :ok, :process 1001, :f :txn, :time 3500000000, :value [[:r 7 [3 4]] [:append 8 10]]}
{:index 7, :type :info, :process 1, :f :txn, :time 1750000000, :value [[:r 7 nil] [:append 8 10]]}
{:index 8, :type :invoke, :process 0, :f :txn, :time 3500000000, :value [[:r 7 nil] [:r 8 nil]]}
{:index 9, :type :ok, :process 0, :f :txn, :time 3500000000, :value [[:r 7 [3 4]] [:r 8 []]]}
";
        assert_eq!(text, expected);
    }
}
