//! Reads files and runs commands on a host over one connection, on which the host first reports
//! whether servers can run there.

use std::io::{self, BufRead, BufReader, Write};
use std::mem;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host::{Files, Space};
use ipnet::Ipv4Net;

use crate::failure::Failure;
use crate::locked;
use crate::process;
use crate::ssh::{self, Answer, COMMAND_LIMIT, Destination, quoted, script};

/// The line after which the agent's greeting begins; a shell's start-up files may print something
/// before it.
const BEGIN: &str = "dyno-host-begins";
/// Lines of the greeting after [`BEGIN`].
const GREETING_LINES: usize = 8;
/// How long a host, which may be under load, may take to answer a request for a file.
const READ_LIMIT: Duration = Duration::from_secs(60);
/// Maximum length of an answer.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of entries of a directory.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of requests that are sent before their answers are read: few enough to fit in a
/// pipe.
const MAX_REQUESTS: usize = 64;
/// How `stat` names a file system in memory.
const MEMORY: &str = "tmpfs";

/// A program on a host that answers requests. It and its connection end when this value is dropped.
#[derive(Debug)]
pub(super) struct Agent {
    child: Mutex<Child>,
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Whether an answer was late: then the next one to arrive may be that answer.
    is_lost: bool,
}

impl Agent {
    /// Connects to a host; other ssh clients can use the connection through the socket `control`.
    /// Returns the agent and its greeting. Messages of ssh go to the file `log`.
    pub(super) fn connect(
        to: &Destination,
        control: &Path,
        log: &Path,
    ) -> Result<(Self, Greeting), Failure> {
        let path = format!("-oControlPath={}", control.display());
        let mut ssh = to.ssh(["-oControlMaster=yes", &path, "-oControlPersist=no"]);
        ssh.arg(script(
            include_str!("greet.sh"),
            &[include_str!("agent.awk")],
        ));
        let (mut child, requests, answers) = ssh::start(ssh, log)?;
        let mut pipes = Pipes {
            requests,
            answers,
            is_lost: false,
        };
        let Some(greeting) = pipes.greeting().ok().and_then(Greeting::of) else {
            return Err(to.error(&ssh::give_up(&mut child, log)));
        };
        let agent = Self {
            child: Mutex::new(child),
            pipes: Mutex::new(pipes),
        };
        Ok((agent, greeting))
    }

    pub(super) fn disconnect(&self) {
        process::kill(&mut locked(&self.child));
    }

    /// Takes over another agent's connection.
    pub(super) fn replace(&self, other: &Self) {
        mem::swap(&mut *locked(&self.pipes), &mut *locked(&other.pipes));
        mem::swap(&mut *locked(&self.child), &mut *locked(&other.child));
    }

    /// Runs a shell command without input.
    pub(super) fn run(&self, command: &str) -> io::Result<Answer> {
        let request = request('C', command)?;
        let mut pipes = locked(&self.pipes);
        pipes.send(&request)?;
        let (text, code) = pipes.answer(COMMAND_LIMIT)?;
        Ok(Answer { text, code })
    }

    /// The output of a command that succeeded.
    fn printed(&self, command: &str) -> io::Result<String> {
        let output = self.run(command)?;
        match output.code {
            0 => Ok(output.text),
            _ => Err(io::Error::other(output.text.trim().to_owned())),
        }
    }
}

impl Pipes {
    fn send(&mut self, requests: &str) -> io::Result<()> {
        if self.is_lost {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.requests.write_all(requests.as_bytes())?;
        self.requests.flush()
    }

    fn greeting(&mut self) -> io::Result<Vec<String>> {
        while self.line(READ_LIMIT)? != BEGIN {}
        (0..GREETING_LINES).map(|_| self.line(READ_LIMIT)).collect()
    }

    /// The text of the next answer, and its exit code.
    fn answer(&mut self, limit: Duration) -> io::Result<(String, i32)> {
        let mut text = String::new();
        loop {
            let line = self.line(limit)?;
            if let Some(code) = line.strip_prefix('=') {
                let code = code.trim().parse();
                return Ok((text, code.map_err(|_| io::ErrorKind::InvalidData)?));
            }
            if text.len() + line.len() < MAX_BYTES {
                text.push_str(line.strip_prefix(' ').unwrap_or(&line));
                text.push('\n');
            }
        }
    }

    /// The text of a requested file.
    fn file(&mut self) -> io::Result<String> {
        match self.answer(READ_LIMIT)? {
            (text, 0) => Ok(text),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The next line without its line ending.
    fn line(&mut self, limit: Duration) -> io::Result<String> {
        if self.is_lost {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let deadline = Instant::now() + limit;
        let mut line = Vec::new();
        while line.len() < MAX_BYTES {
            if self.answers.buffer().is_empty() {
                self.wait(deadline)?;
            }
            // Does not block, because `wait` found something to read.
            let bytes = self.answers.fill_buf()?;
            let length = bytes.len();
            let part = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
            line.extend_from_slice(part);
            let (used, is_whole) = (length.min(part.len() + 1), part.len() < length);
            self.answers.consume(used);
            if is_whole {
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if length == 0 {
                break;
            }
        }
        // The rest of an endless line would be taken for the next answer.
        self.is_lost = true;
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Waits until there is something to read.
    fn wait(&mut self, deadline: Instant) -> io::Result<()> {
        let rest = deadline.saturating_duration_since(Instant::now());
        let waited = process::wait_to_read(self.answers.get_ref(), rest);
        self.is_lost |= waited.is_err();
        waited
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.disconnect();
    }
}

impl Files for Agent {
    fn read(&self, path: &Path) -> io::Result<String> {
        let request = read_request(path)?;
        let mut pipes = locked(&self.pipes);
        pipes.send(&request)?;
        pipes.file()
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<String>> {
        let mut pipes = locked(&self.pipes);
        let mut read = Vec::new();
        for some in paths.chunks(MAX_REQUESTS) {
            let requests: Vec<_> = some.iter().map(|path| read_request(path)).collect();
            let sent: String = requests.iter().flatten().map(String::as_str).collect();
            let sent = pipes.send(&sent).map_err(|error| error.kind());
            read.extend(requests.into_iter().map(|request| {
                request?;
                sent?;
                pipes.file()
            }));
        }
        read
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.printed(&format!("ls -1A {}/", quoted(dir)))?;
        let names = names.lines().filter(|name| !name.is_empty());
        let mut entries: Vec<PathBuf> =
            names.take(MAX_ENTRIES).map(|name| dir.join(name)).collect();
        entries.sort();
        Ok(entries)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let path = quoted(path);
        let resolved = self.printed(&format!("[ -e {path} ] && readlink -f {path}"))?;
        Ok(PathBuf::from(resolved.trim_end_matches('\n')))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let path = quoted(path);
        let said = self.printed(&format!(
            "stat -f -c '%a %b %S %T' {path} && stat -c %d {path}"
        ))?;
        space(&said).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn read_request(path: &Path) -> io::Result<String> {
    request('R', &path.to_string_lossy())
}

/// A request is one line.
fn request(kind: char, what: &str) -> io::Result<String> {
    match what.contains('\n') {
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => Ok(format!("{kind} {what}\n")),
    }
}

/// Parses what `stat` prints about a file system.
fn space(said: &str) -> Option<Space> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let number = |index: usize| words.get(index)?.parse::<u64>().ok();
    let block = number(2)?;
    Some(Space {
        free_bytes: number(0)?.saturating_mul(block),
        total_bytes: number(1)?.saturating_mul(block),
        is_memory: *words.get(3)? == MEMORY,
        device: number(4)?,
    })
}

/// What a host reports about itself.
pub(super) struct Greeting {
    system: String,
    /// The kind of its CPUs, as `uname` names it.
    cpus: String,
    pub(super) uid: u32,
    pub(super) user: String,
    /// The client's address and port, then the host's.
    pub(super) connection: String,
    /// The size of its pages in bytes, and its ticks per second.
    kernel: [String; 2],
    missing: String,
}

impl Greeting {
    fn of(lines: Vec<String>) -> Option<Self> {
        let lines: [String; GREETING_LINES] = lines.try_into().ok()?;
        let [
            system,
            cpus,
            uid,
            user,
            connection,
            page_bytes,
            ticks_per_s,
            missing,
        ] = lines;
        Some(Self {
            system,
            cpus,
            uid: uid.parse().ok()?,
            user,
            connection,
            kernel: [page_bytes, ticks_per_s],
            missing: missing.trim().to_owned(),
        })
    }

    /// Why servers cannot run there, and the remedy; `None` if they can.
    pub(super) fn unfit(&self) -> Option<(String, String)> {
        let [page_bytes, ticks_per_s] = &self.kernel;
        let here = [
            rustix::param::page_size().to_string(),
            rustix::param::clock_ticks_per_second().to_string(),
        ];
        if self.system != "Linux" {
            let why = format!("it runs {}", self.system);
            Some((why, "choose a host that runs Linux".to_owned()))
        } else if self.cpus != own_cpus() {
            let why = format!("its CPUs are {}; this host's are {}", self.cpus, own_cpus());
            Some((why, "choose a host with the same kind of CPU".to_owned()))
        } else if !self.missing.is_empty() {
            let why = format!("it has no {}", self.missing.replace(' ', ", "));
            Some((why, format!("install there: {}", self.missing)))
        } else if self.kernel != here {
            let why = format!(
                "its kernel has pages of {page_bytes} bytes and {ticks_per_s} ticks per second; this host's are {} and {}",
                here[0], here[1]
            );
            Some((why, "choose a host with the same kind of CPU".to_owned()))
        } else {
            None
        }
    }
}

/// The kind of this host's CPUs. Other hosts run the same program.
fn own_cpus() -> String {
    let system = rustix::system::uname();
    system.machine().to_string_lossy().into_owned()
}

/// The client's address, and the one that servers listen on: that which the client connected to, with
/// the smallest network that also contains the client's.
pub(super) fn addresses(connection: &str) -> Option<(Ipv4Addr, Ipv4Net)> {
    let mut words = connection.split_whitespace();
    let client: Ipv4Addr = words.next()?.parse().ok()?;
    let server: Ipv4Addr = words.nth(1)?.parse().ok()?;
    if server.is_loopback() {
        return Some((client, Ipv4Addr::LOCALHOST.into()));
    }
    let differing = (u32::from(client) ^ u32::from(server)).leading_zeros();
    let network = Ipv4Net::new(server, u8::try_from(differing).ok()?);
    Some((client, network.ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A host whose shell runs a script.
    fn host(script: &str) -> (Child, Pipes) {
        let mut host = Command::new("sh");
        host.args(["-c", script]);
        let host = host.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = host.spawn().unwrap();
        let pipes = Pipes {
            requests: host.stdin.take().unwrap(),
            answers: BufReader::new(host.stdout.take().unwrap()),
            is_lost: false,
        };
        (host, pipes)
    }

    #[test]
    fn a_host_that_sends_half_a_line_is_given_up() {
        let script = "printf 'one\\n\\ntw'; read line; echo o; printf half; sleep 600";
        let (mut host, mut pipes) = host(script);
        assert_eq!(pipes.line(READ_LIMIT).unwrap(), "one");
        assert_eq!(pipes.line(READ_LIMIT).unwrap(), "");
        pipes.send("go on\n").unwrap();
        assert_eq!(pipes.line(READ_LIMIT).unwrap(), "two");
        let late = pipes.line(Duration::from_millis(100)).unwrap_err();
        assert!(late.kind() == io::ErrorKind::TimedOut && pipes.is_lost);
        host.kill().unwrap();
        host.wait().unwrap();
    }

    #[test]
    fn a_host_that_sends_an_endless_line_is_given_up() {
        let (mut host, mut pipes) = host("head -c 5000000 /dev/zero; echo; echo next; sleep 600");
        let error = pipes.line(READ_LIMIT).unwrap_err();
        assert!(error.kind() == io::ErrorKind::UnexpectedEof && pipes.is_lost);
        host.kill().unwrap();
        host.wait().unwrap();
    }

    #[test]
    fn servers_admit_the_smallest_network_with_the_client() {
        let of = |connection| addresses(connection).map(|(_, net)| net.to_string());
        assert_eq!(of("127.0.0.1 50 127.0.0.1 22"), Some("127.0.0.1/32".into()));
        assert_eq!(of("10.0.0.7 50 10.0.0.5 22"), Some("10.0.0.5/30".into()));
        assert_eq!(of("10.0.0.5 50 10.0.0.5 22"), Some("10.0.0.5/32".into()));
        assert_eq!(of("192.168.1.1 50 10.0.0.5 22"), Some("10.0.0.5/0".into()));
        for wrong in ["", "::1 50 ::1 22", "10.0.0.7 50"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
