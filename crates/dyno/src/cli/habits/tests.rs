use super::*;

#[test]
fn every_line_of_the_table_is_parsed() {
    let lines = TABLE.lines().filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with(['#', '[']));
    assert_eq!(lines.count(), HABITS.len());
    assert!(HABITS.iter().all(|habit| !habit.tool.is_empty()));
}

#[test]
fn every_option_of_the_table_exists_and_is_named_once_for_each_tool() {
    let bench = super::super::command();
    let bench = bench.find_subcommand("bench").unwrap();
    for (place, habit) in HABITS.iter().enumerate() {
        if let Meaning::Same(option) = habit.meaning {
            let found = bench
                .get_arguments()
                .any(|arg| arg.get_long() == Some(option));
            assert!(found, "{habit:?}");
        }
        let same = |other: &Habit| (other.typed, other.tool) == (habit.typed, habit.tool);
        assert!(
            !HABITS[..place].iter().any(same),
            "{habit:?} is a duplicate"
        );
    }
}

/// A hint for an option that dyno accepts would never be shown.
#[test]
fn no_hint_is_for_an_option_of_dyno() {
    let bench = super::super::command();
    let bench = bench.find_subcommand("bench").unwrap();
    for habit in HABITS
        .iter()
        .filter(|h| !matches!(h.meaning, Meaning::Same(_)))
    {
        let taken = bench.get_arguments().any(|arg| {
            let longs = arg
                .get_long()
                .into_iter()
                .chain(arg.get_all_aliases().unwrap_or_default());
            let shorts = arg
                .get_short()
                .into_iter()
                .chain(arg.get_all_short_aliases().unwrap_or_default());
            longs
                .map(|long| format!("--{long}"))
                .any(|long| long == habit.typed)
                || shorts
                    .map(|short| format!("-{short}"))
                    .any(|short| short == habit.typed)
        });
        assert!(!taken, "{habit:?}");
    }
}

/// `run` is a command of other tools, too.
#[test]
fn a_value_of_an_option_is_no_habit() {
    let hint_of = |typed: &str| {
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        let error = super::super::command()
            .try_get_matches_from(&words)
            .unwrap_err();
        hint(&error, &words)
    };
    assert_eq!(hint_of("dyno bench sqlite: --workload run"), None);
    assert_eq!(hint_of("dyno bench sqlite: --connect-limit run"), None);
    for habit in ["dyno bench run", "dyno bench sqlite: run"] {
        let hint = hint_of(habit).unwrap();
        assert_eq!(hint.message, "unexpected argument `run`");
    }
}

#[test]
fn underscores_are_dashes_in_names_only() {
    for (typed, taken) in [
        ("--table_size=5", "--table-size=5"),
        ("--out=a_b", "--out=a_b"),
        ("--skip_trx", "--skip-trx"),
        ("oltp_read_only", "oltp_read_only"),
    ] {
        assert_eq!(with_dashes(typed.to_owned()), taken);
    }
}
