//! Hosts of namespaces are reached, reach each other, and disappear.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::Hosts;

fn ssh(hosts: &Hosts, host: &str, command: &str) -> (bool, String) {
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(hosts.config());
    ssh.args(["-oBatchMode=yes", "-oConnectTimeout=2", host, command]);
    let output = ssh.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success(), said)
}

fn interfaces() -> usize {
    let names = fs::read_dir("/sys/class/net").unwrap().flatten();
    let own = names.filter(|entry| entry.file_name().to_string_lossy().starts_with("dynot"));
    own.count()
}

#[test]
fn hosts_are_apart_and_disappear() {
    let Some(mut hosts) = Hosts::start(3) else {
        return;
    };
    assert_eq!(hosts.list(), r#"["host1", "host2", "host3"]"#);
    for number in 1..=3 {
        let name = format!("host{number}");
        let (ok, said) = ssh(
            &hosts,
            &name,
            "hostname; echo $$ > /var/tmp/pid; ls /var/tmp",
        );
        assert_eq!((ok, said.as_str()), (true, format!("{name}\npid").as_str()));
        assert!(hosts.own(number).join("pid").exists());
        assert!(hosts.processes(number).is_empty());
    }
    let seen = hosts.run(2, &["ip", "-4", "-o", "addr", "show", "eth0"]);
    let address = seen.split_whitespace().nth(3).unwrap();
    let address = address.split('/').next().unwrap().to_owned();
    hosts.run(1, &["bash", "-c", &format!("< /dev/tcp/{address}/2222")]);
    hosts.hide(1, Path::new("/usr/bin/tac"));
    assert!(!ssh(&hosts, "host1", "tac < /dev/null").0);
    assert!(ssh(&hosts, "host2", "tac < /dev/null").0);
    hosts.plug(2, false);
    assert!(!ssh(&hosts, "host2", "true").0);
    hosts.plug(2, true);
    assert!(ssh(&hosts, "host2", "true").0);
    hosts.kill(3);
    assert!(!ssh(&hosts, "host3", "true").0);
    assert!(interfaces() > 0);
}
