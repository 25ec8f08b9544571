use super::*;

#[test]
fn a_measurement_has_a_sensible_length() {
    for (seconds, is_fine) in [(7, false), (8, true), (3600, true), (36_000, false)] {
        let time = Duration::from_secs(seconds);
        assert_eq!(check_length(time).is_ok(), is_fine, "{seconds}");
        if is_fine {
            study_of("mariadb", time).unwrap();
        }
    }
}

#[test]
fn an_interruption_says_what_is_recorded() {
    let stopped = || Failure::interrupted("interrupted; results until then are kept");
    let lost = with_note(stopped(), false).message;
    assert_eq!(
        lost,
        "interrupted; nothing is recorded, because too few starts completed"
    );
    let kept = with_note(stopped(), true).message;
    assert!(kept.ends_with("completed starts is recorded"), "{kept}");
}

#[test]
fn servers_that_run_already_cannot_show_the_noise_of_starts() {
    let text = "title = 't'\n[server]\nengine = 'sqlite'\n[load]\nworkload = 'oltp_point_select'\n";
    let study = Study::parse("t", text, engine::catalog()).unwrap();
    let lab = Lab::default();
    let trials = PlannedStudy::of(study, "".as_ref()).unwrap();
    let trials = trials.trials_without_files(&lab).unwrap();
    let refused = identical(SHORTEST, &trials, &lab).unwrap_err();
    assert!(refused.message.contains("servers that dyno starts"));
}
