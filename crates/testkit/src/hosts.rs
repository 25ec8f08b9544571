//! Several hosts on this one: namespaces, each with an SSH server, on a network of their own.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::ssh_host::{Place, SshHost};
use crate::{daemon, skip};

/// Shared address space (RFC 6598): 100.127.NETWORK.HOST.
const NETWORK: [u8; 2] = [100, 127];
const PORT: u16 = 2222;
/// Connects a host to the switch, and runs a program there. `$1`: the process of the switch, `$2`: the host's name, which
/// its port has, too, `$3`: its address, `$4`: its own directory; then the program. When the host restarts, the kernel
/// ends its first process as if by SIGHUP, and the program runs again.
const CONNECT: &str = r#"
set -e
# Of a host that was killed a moment ago.
nsenter --net="/proc/$1/ns/net" -- ip link del "$2" 2>/dev/null || true
ip link add eth0 type veth peer name "$2" netns "$1"
nsenter --net="/proc/$1/ns/net" -- ip link set "$2" master switch up
ip addr add "$3/24" dev eth0
ip link set eth0 up
ip link set lo up
name=$2 own=$4
shift 4
while
    code=0
    env --default-signal=HUP setpriv --pdeathsig KILL -- \
        unshare --mount --pid --uts --fork --kill-child --mount-proc -- sh -c '
            set -e
            hostname "$1"
            # Copies of volumes that others test would keep them in use.
            awk "\$5 ~ /mounted\$/ { print \$5 }" /proc/self/mountinfo | xargs --no-run-if-empty umount --lazy
            mount --bind "$2" /var/tmp
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm
            shift 2
            exec "$@"' sh "$name" "$own" "$@" || code=$?
    [ "$code" = 129 ]
do :; done
exit "$code"
"#;
const SWITCH: &str = r#"
set -e
ip link add switch type bridge
ip link set switch up
ip link set lo up
: > "$1"
exec sleep infinity
"#;

/// Hosts `host1`, `host2`… with names, processes, addresses, shared memory, and a `/var/tmp` of their own, which reach
/// each other and this host. Everything else, such as users and programs, is this host's. They are gone
/// with this value, and with the test.
#[derive(Debug)]
pub struct Hosts {
    hosts: Vec<SshHost>,
    /// Of this host, as they know it.
    here: Ipv4Addr,
    switch: Child,
    /// Fields are dropped in order: what the hosts have in it ends before it does.
    directory: TempDir,
}

impl Hosts {
    /// Starts some. Records a skipped test and returns `None` where this user may not.
    pub fn start(count: u8) -> Option<Self> {
        Self::start_with(count, |_| String::new())
    }

    /// Starts some, with further lines in the configuration of each one's SSH server.
    pub fn start_with(count: u8, options: impl Fn(u8) -> String) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root may make hosts of namespaces");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let ready = directory.path().join("ready");
        let script = [
            "--net",
            "--",
            "sh",
            "-c",
            SWITCH,
            "sh",
            ready.to_str().unwrap(),
        ];
        let log = directory.path().join("switch.log");
        let switch = daemon::start("KILL", "unshare", &script, &log, || ready.exists());
        let mut made = Self {
            hosts: Vec::new(),
            here: Ipv4Addr::UNSPECIFIED,
            switch,
            directory,
        };
        let network = made.connect();
        made.here = Ipv4Addr::new(NETWORK[0], NETWORK[1], network, 1);
        for number in 1..=count {
            let own = made.own(number);
            fs::create_dir(&own).unwrap();
            // As in every /var/tmp.
            run("chmod", &["1777", own.to_str().unwrap()]);
            let address = Ipv4Addr::new(NETWORK[0], NETWORK[1], network, 10 + number);
            let (name, switch) = (format!("host{number}"), made.switch.id().to_string());
            let entry = [
                "unshare", "--net", "--", "sh", "-c", CONNECT, "sh", &switch, &name,
            ];
            let entry = entry.into_iter().map(str::to_owned);
            let entry = entry.chain([address.to_string(), own.display().to_string()]);
            made.hosts.push(SshHost::start_at(Place {
                name: name.clone(),
                address,
                port: PORT,
                entry: entry.collect(),
                options: options(number),
            }));
        }
        let configs = made
            .hosts
            .iter()
            .map(|host| fs::read_to_string(host.config()).unwrap());
        fs::write(made.config(), configs.collect::<String>()).unwrap();
        Some(made)
    }

    /// Connects this host to the switch; returns the number of the network.
    fn connect(&self) -> u8 {
        let switch = self.switch.id().to_string();
        let is_mine = |network: &u8| {
            let (link, port) = (format!("dynot{network}"), format!("up{network}"));
            let words = [
                "link", "add", &link, "type", "veth", "peer", "name", &port, "netns", &switch,
            ];
            let made = Command::new("ip").args(words).output();
            made.is_ok_and(|made| made.status.success())
        };
        let network = (0..=u8::MAX)
            .find(is_mine)
            .expect("a network for hosts is free");
        let (link, port) = (format!("dynot{network}"), format!("up{network}"));
        let address = format!("{}.{}.{network}.1/24", NETWORK[0], NETWORK[1]);
        run("ip", &["addr", "add", &address, "dev", &link]);
        run("ip", &["link", "set", &link, "up"]);
        let namespace = format!("--net=/proc/{switch}/ns/net");
        run(
            "nsenter",
            &[
                &namespace, "--", "ip", "link", "set", &port, "master", "switch", "up",
            ],
        );
        network
    }

    /// The configuration file with which ssh knows all of them by their names.
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("ssh_config")
    }

    /// The names, as a list of a study: `["host1", "host2"]`.
    pub fn list(&self) -> String {
        let names = (1..=self.hosts.len()).map(|number| format!("\"host{number}\""));
        format!("[{}]", names.collect::<Vec<_>>().join(", "))
    }

    /// A host's SSH server, with its keys.
    pub fn ssh(&self, number: u8) -> &SshHost {
        &self.hosts[usize::from(number) - 1]
    }

    /// What a host sees as `/var/tmp`.
    pub fn own(&self, number: u8) -> PathBuf {
        self.directory.path().join(format!("own{number}"))
    }

    /// The address at which they reach this host.
    pub fn here(&self) -> Ipv4Addr {
        self.here
    }

    /// A command that runs what is added to it in a host's network.
    pub fn in_network(&self, number: u8) -> Command {
        let pid = self.init(number).expect("the host is up");
        let mut command = Command::new("nsenter");
        command.args([&format!("--net=/proc/{pid}/ns/net"), "--"]);
        command
    }

    /// Runs a program on a host; what it printed.
    pub fn run(&self, number: u8, command: &[&str]) -> String {
        let pid = self.init(number).expect("the host is up").to_string();
        let enter = ["--target", &pid, "--net", "--mount", "--pid", "--uts", "--"];
        run("nsenter", &[&enter, command].concat())
    }

    /// Hides a program or a file of a host, as if it were not installed there.
    pub fn hide(&self, number: u8, path: &Path) {
        self.run(
            number,
            &["mount", "--bind", "/dev/null", path.to_str().unwrap()],
        );
    }

    /// The programs that run on a host besides its SSH server.
    pub fn processes(&self, number: u8) -> Vec<String> {
        let listed = self.run(number, &["ps", "-e", "-o", "comm="]);
        let programs = listed.lines().map(str::trim);
        let of_dyno = programs.filter(|name| !["ps", "sshd"].contains(name));
        of_dyno.map(str::to_owned).collect()
    }

    /// Kills all processes of a host, which then says nothing more.
    pub fn kill(&mut self, number: u8) {
        // What started it reaps it, and ends.
        if let Some(init) = self.init(number).and_then(Pid::from_raw) {
            let _ = kill_process(init, Signal::KILL);
            self.hosts[usize::from(number) - 1].wait();
            self.cut(number);
        }
    }

    /// Takes a host off the switch. The kernel would do it, but only some time after the last process has ended, and
    /// refuse connections until then.
    fn cut(&self, number: u8) {
        let namespace = format!("--net=/proc/{}/ns/net", self.switch.id());
        let port = format!("host{number}");
        let mut command = Command::new("nsenter");
        command.args([&namespace, "--", "ip", "link", "del", &port]);
        // It may have done so already.
        let _ = command.output();
    }

    /// Starts a host again.
    pub fn restart(&mut self, number: u8) {
        self.replace(number, SshHost::serve);
    }

    /// Gives a host another key, as if it had been installed anew. It starts again.
    pub fn change_key(&mut self, number: u8) {
        self.replace(number, SshHost::change_key);
    }

    fn replace(&mut self, number: u8, by: fn(SshHost) -> SshHost) {
        self.kill(number);
        let index = usize::from(number) - 1;
        let host = self.hosts.remove(index);
        self.hosts.insert(index, by(host));
    }

    /// Cuts a host's network off, or connects it again.
    pub fn plug(&self, number: u8, is_in: bool) {
        let namespace = format!("--net=/proc/{}/ns/net", self.switch.id());
        let (port, how) = (format!("host{number}"), if is_in { "up" } else { "down" });
        run(
            "nsenter",
            &[&namespace, "--", "ip", "link", "set", &port, how],
        );
    }

    /// The first process of a host; another one once it has restarted.
    pub fn init(&self, number: u8) -> Option<i32> {
        let child = |of: i32| {
            let children = fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
            children.ok()?.trim().parse().ok()
        };
        child(child(self.ssh(number).pid().cast_signed())?)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for number in (1..).take(self.hosts.len()) {
            self.kill(number);
        }
        daemon::end(&mut self.switch);
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
