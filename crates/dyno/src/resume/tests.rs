use std::time::Duration;

use lab::Lab;

use super::*;
use crate::cli::StudyArgs;
use crate::study_file::PlannedStudy;

fn trials(load: &str, sweep: &str) -> Vec<Trial> {
    trials_of(&format!(
        "title = \"t\"\n[server]\nengine = \"mariadb\"\nreset = \"none\"\n\
         [data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n{load}\n\
         [sweep]\n{sweep}\n"
    ))
}

fn trials_of(text: &str) -> Vec<Trial> {
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("study.toml");
    std::fs::write(&study, text).unwrap();
    let args = StudyArgs {
        study,
        overrides: Vec::new(),
    };
    PlannedStudy::read(&args)
        .unwrap()
        .trials(&Lab::default())
        .unwrap()
}

fn whole(trial: &Trial) -> TrialSummary {
    TrialSummary::new(trial.planned_setup())
}

fn kept(trials: &[Trial]) -> RunResult {
    RunResult {
        trials: trials.iter().map(whole).collect(),
        ..RunResult::default()
    }
}

fn found(trial: &Trial, end: SearchEnd) -> FoundMax {
    FoundMax {
        point: trial.planned.point.clone(),
        repeat: trial.planned.repeat,
        column: "response_ms.p99".to_owned(),
        limit_ms: 20.0,
        capacity_per_s: None,
        steps: Vec::new(),
        rate: None,
        end,
    }
}

#[test]
fn data_is_lost_if_a_trial_continues_with_that_of_a_complete_one() {
    let threads = trials("", "\"load.threads\" = [1, 2, 4]");
    assert!(is_data_lost(&kept(&threads[..1]), &threads));
    // The third one continues with the data of the second one.
    assert!(is_data_lost(
        &kept(&[threads[0].clone(), threads[2].clone()]),
        &threads
    ));
    // The first one begins with a copy, and the second one runs again as well.
    assert!(!is_data_lost(&kept(&threads[2..]), &threads));
    assert!(!is_data_lost(&kept(&threads), &threads));
    for copies in ["data.rows", "data.tables", "topology.instances"] {
        let trials = trials("", &format!("\"{copies}\" = [1, 2]"));
        assert!(!is_data_lost(&kept(&trials[..1]), &trials), "{copies}");
    }
}

#[test]
fn a_run_whose_data_is_lost_is_refused() {
    let threads = trials("", "\"load.threads\" = [1, 2]");
    let here = Environment::default();
    let refused = check(&kept(&threads[..1]), &here, &threads).unwrap_err();
    assert_eq!(refused.exit as u8, 2);
    for text in ["server.reset = \"none\"", "the data of the previous one"] {
        assert!(refused.message.contains(text), "{}", refused.message);
    }
    assert!(refused.remedy.unwrap().contains("--out"));
}

#[test]
fn a_complete_search_needs_no_data() {
    let load = "threads = 2\nfind_max = { p99 = \"20ms\" }\ntime = \"1s\"";
    let searches = trials(load, "\"data.rows\" = [10, 20]");
    let mut kept = kept(&searches[..1]);
    kept.trials[0]
        .setup
        .planned
        .point
        .insert("load.rate".to_owned(), "closed loop".into());
    assert!(is_data_lost(&kept, &searches));
    let stopped = SearchEnd::Stopped {
        reason: "interrupted".to_owned(),
    };
    kept.searches = vec![found(&searches[0], stopped)];
    assert!(is_data_lost(&kept, &searches));
    kept.searches = vec![found(&searches[0], SearchEnd::NoRate)];
    assert!(!is_data_lost(&kept, &searches));
    // The next one would continue with its data.
    let mut same = searches.clone();
    same[1].planned.data.rows = 10;
    assert!(is_data_lost(&kept, &same));
}

fn place(disks: &[(&str, Option<&str>, Option<u64>)]) -> Environment {
    let disk = |(name, model, bytes): &(&str, Option<&str>, Option<u64>)| Disk {
        name: (*name).to_owned(),
        model: model.map(str::to_owned),
        bytes: *bytes,
        ..Disk::default()
    };
    let place = Place {
        path: "/data".to_owned(),
        file_system: Some("ext4".to_owned()),
        disks: disks.iter().map(disk).collect(),
        ..Place::default()
    };
    Environment {
        places: vec![place],
        ..Environment::default()
    }
}

#[test]
fn a_disk_is_identified_by_its_model_and_bytes_where_both_are_known() {
    let then = place(&[("sda", Some("A"), Some(100)), ("sdb", Some("B"), Some(200))]);
    let other = |here: &Environment| other_places(&DISKS, &then, here);
    for same in [
        // The kernel assigned their names in another order.
        place(&[("sda", Some("B"), Some(200)), ("sdb", Some("A"), Some(100))]),
        place(&[("vda", None, Some(100)), ("vdb", None, Some(200))]),
        place(&[("sda", Some("A"), None), ("sdb", Some("B"), None)]),
        place(&[]),
    ] {
        assert_eq!(other(&same), [""; 0]);
    }
    let model = place(&[("sda", Some("A"), Some(100)), ("sdb", Some("C"), Some(200))]);
    let disks = "/data: disks: A and B at the start, A and C now";
    assert_eq!(other(&model), [disks]);
    let bytes = place(&[("sda", None, Some(100)), ("sdb", None, Some(300))]);
    let disks = "/data: disk bytes: 100 and 200 at the start, 100 and 300 now";
    assert_eq!(other(&bytes), [disks]);
    let mut moved = place(&[]);
    moved.places[0].file_system = Some("xfs".to_owned());
    let disks = "/data: file system: ext4 at the start, xfs now";
    assert_eq!(other(&moved), [disks]);
    moved.places[0].file_system = None;
    assert_eq!(other(&moved), [""; 0]);
}

#[test]
fn a_point_that_had_not_begun_has_the_recorded_design_too() {
    let planned = trials_of(
        "title = \"t\"\n[server]\nengine = \"mariadb\"\n[load]\nworkload = \"oltp_point_select\"\n\
         [sweep]\n\"load.threads\" = [1, 2]\n[compare]\nstarts = 3\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n",
    );
    let designs = |trials: &[Trial]| -> Vec<_> {
        let each = trials.iter().map(|trial| &trial.planned);
        each.map(|planned| (planned.compare.unwrap().alternates(), planned.load.time))
            .collect()
    };
    let minute = Duration::from_secs(60);
    for (in_turns, time) in [(true, Duration::from_secs(8)), (false, minute)] {
        let mut recorded = planned[..1].to_vec();
        lab::alternate(&mut recorded, in_turns);
        recorded[0].planned.load.time = time;
        // What the budget allowed.
        recorded[0].planned.compare.as_mut().unwrap().starts = 2;
        let complete = kept(&recorded).trials;
        let mut trials = planned.clone();
        // The noise known by now would lead to another time.
        trials
            .iter_mut()
            .for_each(|trial| trial.planned.load.time = 2 * minute);
        assert!(as_recorded(&mut trials, &complete, false));
        assert_eq!(designs(&trials), vec![(in_turns, time); 8]);
        let mut trials = planned.clone();
        assert!(as_recorded(&mut trials, &complete, true));
        assert_eq!(designs(&trials), vec![(in_turns, minute); 8]);
    }
    assert!(!as_recorded(&mut planned.clone(), &[], false));
}
