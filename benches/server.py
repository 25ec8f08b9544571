"""Private servers for benchmarks, and the CPU time of processes."""

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ACCOUNT = "bench"


def fail(text):
    sys.exit(f"benches/{pathlib.Path(sys.argv[0]).name}: {text}")


class Private:
    """A private server that dies with this script."""

    # The account that its package creates: the server does not run as root.
    owner = None
    # The signals that end it, and that end it if it does not hear the first one.
    signals = ()

    def __init__(self, place):
        self.place = place
        self.log = place / "server.log"
        self.socket = place / "server.sock"
        self.data = place / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        as_user = []
        if os.geteuid() == 0:
            account = pwd.getpwnam(self.owner)
            place.chmod(0o755)
            self.data.mkdir(mode=0o700)
            for path in (self.data, place):
                shutil.chown(path, account.pw_uid, account.pw_gid)
            as_user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        under = ["setpriv", "--pdeathsig", "KILL", *as_user, "--"]
        with self.log.open("w") as log:
            initialize = self.initialize()
            made = subprocess.run([*under, *initialize], stdout=log, stderr=log, cwd="/", check=False)
            if made.returncode:
                fail(f"{initialize[0]} failed:\n{self.last_words()}")
            self.process = subprocess.Popen([*under, *self.command()], stdout=log, stderr=log, cwd="/")
        self.asking = None
        for _ in range(300):
            if self.process.poll() is not None:
                fail(f"the server did not start:\n{self.last_words()}")
            ready = subprocess.run(self.ready(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        else:
            fail(f"the server does not answer:\n{self.last_words()}")
        self.asking = subprocess.Popen(self.client(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def last_words(self):
        return self.log.read_text()[-2000:]

    def ask(self, sql):
        """Runs a statement on the script's connection; returns its rows."""
        self.asking.stdin.write(f"{sql};\nSELECT '--end--';\n")
        rows = []
        while (line := self.asking.stdout.readline()) != "--end--\n":
            if not line:
                fail(f"the server refused: {sql}")
            rows.append(line.rstrip("\n").split("\t"))
        return rows

    def processes(self):
        return [self.process.pid]

    def activity(self):
        """What its running processes have done so far, as activity() has it."""
        each = [activity(process) for process in self.processes()]
        return [sum(figures) for figures in zip(*each)]

    def stop(self):
        if self.asking:
            self.asking.stdin.close()
            self.asking.wait()
        first, second = self.signals
        self.process.send_signal(first)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.send_signal(second)
            self.process.wait()


class Server(Private):
    """A private MariaDB."""

    owner = "mysql"
    signals = (signal.SIGTERM, signal.SIGKILL)

    def __init__(self, place):
        super().__init__(place)
        self.ask(f"CREATE USER {ACCOUNT}@'127.0.0.1'")
        self.ask(f"GRANT ALL ON *.* TO {ACCOUNT}@'127.0.0.1'")
        self.ask("CREATE DATABASE sbtest")

    def initialize(self):
        return ["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--skip-test-db",
                "--auth-root-authentication-method=normal"]

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}",
                f"--pid-file={self.place}/server.pid", f"--port={self.port}", "--bind-address=127.0.0.1",
                "--skip-name-resolve", "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G",
                # The disk is not part of these measurements.
                "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
                "--max-connections=12000", "--max-prepared-stmt-count=4000000", "--back-log=4096",
                "--open-files-limit=13000", "--table-open-cache=1000", "--local-infile=ON"]

    def ready(self):
        return ["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "-uroot", "ping"]

    def client(self):
        return ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "--unbuffered", "-N", "-B"]

    def statements(self):
        """Prepared statements executed so far."""
        return int(self.ask("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")[0][1])

    def rows(self, table):
        """Rows of a table of the database sbtest."""
        return int(self.ask(f"SELECT COUNT(*) FROM sbtest.{table}")[0][0])

    def sysbench(self, database):
        """The options with which sysbench connects to it."""
        return ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}", f"--mysql-user={ACCOUNT}",
                f"--mysql-db={database}"]

    def version(self):
        return self.ask("SELECT VERSION()")[0][0]

    def url(self, database="sbtest"):
        return f"mysql://{ACCOUNT}@127.0.0.1:{self.port}/{database}"


class Postgres(Private):
    """A private PostgreSQL."""

    owner = "postgres"
    # A fast shutdown does not wait for clients; an immediate one waits for nothing.
    signals = (signal.SIGINT, signal.SIGQUIT)

    def __init__(self, place):
        super().__init__(place)
        self.ask("CREATE EXTENSION pg_stat_statements")
        self.ask("CREATE DATABASE sbtest")

    @staticmethod
    def program(name):
        """A program of the newest version that is installed."""
        versions = pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
        return str(max(versions, key=lambda path: float(path.parts[-3])))

    def initialize(self):
        return [self.program("initdb"), "-N", "-A", "trust", "-U", ACCOUNT, "-D", self.data]

    def command(self):
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": self.place, "max_connections": 1100,
            "shared_buffers": "2GB", "max_wal_size": "4GB",
            # The disk is not part of these measurements.
            "synchronous_commit": "off",
            # It counts statements at once; the statistics views may lag by a second.
            "shared_preload_libraries": "pg_stat_statements",
        }
        options = [f"-c{name}={value}" for name, value in settings.items()]
        return [self.program("postgres"), "-D", self.data, "-p", str(self.port), *options]

    def connecting(self):
        """The options with which PostgreSQL's programs connect to it."""
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", ACCOUNT]

    def ready(self):
        return [self.program("pg_isready"), "-q", *self.connecting()]

    def client(self, database="postgres"):
        return [self.program("psql"), "-X", "-A", "-t", "-q", "-F", "\t", *self.connecting(), "-d", database]

    def statements(self):
        """Statements executed so far."""
        return int(self.ask("SELECT sum(calls)::bigint FROM pg_stat_statements")[0][0])

    def rows(self, table):
        """Rows of a table of the database sbtest."""
        count = [*self.client("sbtest"), "-c", f"SELECT count(*) FROM {table}"]
        return int(subprocess.run(count, stdout=subprocess.PIPE, text=True, check=True).stdout)

    def processes(self):
        """Each connection has a process."""
        pid = self.process.pid
        return [pid, *pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def sysbench(self, database):
        """The options with which sysbench connects to it."""
        return ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={self.port}", f"--pgsql-user={ACCOUNT}",
                f"--pgsql-db={database}"]

    def version(self):
        return self.ask("SHOW server_version")[0][0].split()[0]

    def url(self, database="sbtest"):
        return f"postgres://{ACCOUNT}@127.0.0.1:{self.port}/{database}"


def activity(pid):
    """User and system CPU seconds of a process so far, and how often its threads have slept and have been preempted."""
    counters = [0, 0, 0, 0]
    with contextlib.suppress(OSError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        counters[:2] = int(fields[11]) * TICK_S, int(fields[12]) * TICK_S
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            found = re.findall(r"voluntary_ctxt_switches:\s+(\d+)", status.read_text())
            counters[2:] = counters[2] + int(found[0]), counters[3] + int(found[1])
    return counters


def busy_s():
    """CPU seconds that all processes of this host, and other virtual machines (steal), have used so far."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK_S


def stolen_s():
    """CPU seconds that other virtual machines (steal) have used so far."""
    return int(pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) * TICK_S


def started_s():
    """CPU seconds of this process, of its descendants that still run, and of what those waited for."""
    stats = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            stats[int(path.parent.name)] = int(fields[1]), fields[11:15]
    own, total = {os.getpid()}, sum(os.times()[:2])
    while found := {pid for pid, (parent, _) in stats.items() if parent in own} - own:
        own |= found
        total += sum(int(ticks) * TICK_S for pid in found for ticks in stats[pid][1])
    return total
