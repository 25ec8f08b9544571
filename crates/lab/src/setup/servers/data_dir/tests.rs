use std::mem::ManuallyDrop;

use plan::Spanned;
use std::process::Command;

use super::*;
use crate::process::NEVER;
use crate::site::ThisHost;

#[test]
fn what_cannot_be_removed_is_reported() {
    let (dir, home) = crate::for_tests::new_home();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut node = plan::Node::default();
    node.volume.directory = Some(plan::Spanned {
        value: disk.clone(),
        span: plan::Span::NOWHERE,
    });
    let made = || DataDir::new(&home, "s1.", &node, &NEVER).unwrap();
    made().end().unwrap();
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    let data = made();
    let place = data.volume.path().to_owned();
    fs::remove_file(place.join(".dyno-directory")).unwrap();
    fs::write(place.join("theirs"), "x").unwrap();
    let error = data.end().unwrap_err();
    let about = format!("{} is not empty", place.display());
    assert!(error.message.starts_with(&about), "{error}");
    assert!(place.join("theirs").exists());
}

/// While dyno removes a file of the data and then all data, the server's account keeps
/// replacing what it owns with a link to root's files and back.
#[test]
fn links_by_the_servers_account_are_not_followed() {
    let (dir, home) = crate::for_tests::new_home();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("auto.cnf"), "x").unwrap();
    if home.account().other_name().is_none() {
        return testkit::skip("only root starts servers as another user");
    }
    let data = DataDir::new(&home, "s1.", &plan::Node::default(), &NEVER).unwrap();
    data.make_own("data").unwrap();
    data.hand_over().unwrap();
    let text = format!(
        "cd {} || exit 1; while :; do mv data aside; ln -s {} data; rm data; mv aside data; \
         done 2>/dev/null",
        data.own().display(),
        theirs.display()
    );
    let mut swapper = Command::new("setpriv");
    swapper.args(home.account().setpriv_options());
    let mut swapper = swapper.args(["sh", "-c", &text]).spawn().unwrap();
    let (mut was_there, mut was_away) = (false, false);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut tries = 0;
    while tries < 1000 || !(was_there && was_away) {
        match data.remove_data_file("auto.cnf") {
            Ok(()) => was_there = true,
            Err(_) => was_away = true,
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{was_there} {was_away}"
        );
        tries += 1;
    }
    let path = data.dir().to_owned();
    drop(data);
    swapper.kill().unwrap();
    swapper.wait().unwrap();
    let _ = tree::remove(&path);
    assert!(!path.exists());
    assert_eq!(fs::read(theirs.join("auto.cnf")).unwrap(), b"x");
}

#[test]
fn data_and_log_on_one_disk_give_it_its_scheduler_back() {
    let (_dir, home) = crate::for_tests::new_home();
    let disk = match volume::create(&home, &on_loop_device(), PathBuf::new(), &NEVER) {
        Ok(disk) => disk,
        Err(error) => return testkit::skip(&error.to_string()),
    };
    let devices = device::below_dir(ThisHost::default().files(), disk.path());
    let words =
        || fs::read_to_string(format!("/sys/block/{}/queue/scheduler", devices[0])).unwrap();
    let before = words();
    let mut others = before
        .split_whitespace()
        .filter(|word| !word.starts_with('['));
    let (Some(one), Some(other)) = (others.next(), others.next()) else {
        return testkit::skip("a loop device has fewer than three schedulers here");
    };
    let on_disk = |scheduler: &str| plan::Volume {
        directory: Some(typed(disk.path().to_owned())),
        scheduler: Some(typed(scheduler.to_owned())),
        ..plan::Volume::default()
    };
    let node = plan::Node {
        volume: on_disk(one),
        log_volume: Some(on_disk(other)),
        ..plan::Node::default()
    };
    let data = || DataDir::new(&home, "s1.", &node, &NEVER).unwrap();
    data().end().unwrap();
    assert_eq!(words(), before);
    let (volume, log) = (data(), data());
    drop((log, volume));
    assert_eq!(words(), before);
    // As after a kill.
    let set = |scheduler: &str| Scheduler::set(&home, disk.path(), scheduler).unwrap();
    let killed = [one, other].map(|scheduler| ManuallyDrop::new(set(scheduler)));
    crate::home::undo_steps(home.run_dir()).unwrap();
    assert_eq!(words(), before);
    drop(killed.map(ManuallyDrop::into_inner));
}

fn typed<T>(value: T) -> Spanned<T> {
    Spanned {
        value,
        span: plan::Span::NOWHERE,
    }
}

fn on_loop_device() -> plan::Volume {
    let made = plan::FileSystem {
        kind: typed(plan::FileSystemKind::Ext4),
        devices: plan::Devices::Loop {
            count: 1,
            bytes: 512 << 20,
        },
        profile: plan::Profile::Single,
        checksum: true,
        compression: plan::Compression::None,
        deduplicate: false,
        mount_options: None,
    };
    plan::Volume {
        file_system: Some(Box::new(made)),
        ..plan::Volume::default()
    }
}
