"""Private servers for benchmarks, and the CPU time of processes."""

import contextlib
import os
import pathlib
import pwd
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


class Server:
    """A private MariaDB that dies with this script."""

    def __init__(self, place):
        self.place = place
        self.log = place / "server.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = place / "data"
        self.socket = place / "server.sock"
        as_user = []
        if os.geteuid() == 0:
            # The server does not run as root, but as the account that its package creates.
            account = pwd.getpwnam("mysql")
            place.chmod(0o755)
            data.mkdir()
            shutil.chown(data, account.pw_uid, account.pw_gid)
            shutil.chown(place, account.pw_uid, account.pw_gid)
            as_user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        under = ["setpriv", "--pdeathsig", "KILL", *as_user, "--"]
        with self.log.open("w") as log:
            made = subprocess.run(
                [*under, "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                 "--auth-root-authentication-method=normal"],
                stdout=log, stderr=log, cwd="/", check=False)
            if made.returncode:
                fail(f"mariadb-install-db failed:\n{self.log.read_text()[-2000:]}")
            self.process = subprocess.Popen(
                [*under, "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.socket}",
                 f"--pid-file={place}/server.pid", f"--port={self.port}", "--bind-address=127.0.0.1",
                 "--skip-name-resolve", "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G",
                 # The disk is not part of these measurements.
                 "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
                 "--max-connections=12000", "--max-prepared-stmt-count=4000000", "--back-log=4096",
                 "--open-files-limit=13000", "--table-open-cache=1000", "--local-infile=ON"],
                stdout=log, stderr=log, cwd="/")
        self.asking = None
        for _ in range(300):
            if self.process.poll() is not None:
                fail(f"the server did not start:\n{self.log.read_text()[-2000:]}")
            if self.socket.exists() and self.answers():
                break
            time.sleep(0.1)
        else:
            fail(f"the server does not answer:\n{self.log.read_text()[-2000:]}")
        self.asking = subprocess.Popen(
            ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "--unbuffered", "-N", "-B"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.ask(f"CREATE USER {ACCOUNT}@'127.0.0.1'")
        self.ask(f"GRANT ALL ON *.* TO {ACCOUNT}@'127.0.0.1'")
        self.ask("CREATE DATABASE sbtest")

    def answers(self):
        return subprocess.run(["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "-uroot", "ping"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def ask(self, sql):
        """Runs a statement on the script's connection; returns its rows."""
        self.asking.stdin.write(f"{sql};\nSELECT '--end--';\n")
        rows = []
        while (line := self.asking.stdout.readline()) != "--end--\n":
            if not line:
                fail(f"the server refused: {sql}")
            rows.append(line.rstrip("\n").split("\t"))
        return rows

    def statements(self):
        """Prepared statements executed so far."""
        return int(self.ask("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")[0][1])

    def rows(self, table):
        """Rows of a table of the database sbtest."""
        return int(self.ask(f"SELECT COUNT(*) FROM sbtest.{table}")[0][0])

    def cpu_s(self):
        """CPU seconds so far."""
        return sum(cpu_s(self.process.pid))

    def sysbench(self, database):
        """The options with which sysbench connects to it."""
        return ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}", f"--mysql-user={ACCOUNT}",
                f"--mysql-db={database}"]

    def version(self):
        return self.ask("SELECT VERSION()")[0][0]

    def url(self, database="sbtest"):
        return f"mysql://{ACCOUNT}@127.0.0.1:{self.port}/{database}"

    def stop(self):
        if self.asking:
            self.asking.stdin.close()
            self.asking.wait()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Postgres:
    """A private PostgreSQL that dies with this script."""

    def __init__(self, place):
        self.place = place
        self.log = place / "server.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = place / "data"
        as_user = []
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            place.chmod(0o755)
            data.mkdir(mode=0o700)
            shutil.chown(data, account.pw_uid, account.pw_gid)
            shutil.chown(place, account.pw_uid, account.pw_gid)
            as_user = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        under = ["setpriv", "--pdeathsig", "KILL", *as_user, "--"]
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": place, "max_connections": 1100,
            "shared_buffers": "2GB", "max_wal_size": "4GB",
            # The disk is not part of these measurements.
            "synchronous_commit": "off",
            # It counts statements at once; the statistics views may lag by a second.
            "shared_preload_libraries": "pg_stat_statements",
        }
        with self.log.open("w") as log:
            made = subprocess.run([*under, self.program("initdb"), "-N", "-A", "trust", "-U", ACCOUNT, "-D", data],
                                  stdout=log, stderr=log, cwd="/", check=False)
            if made.returncode:
                fail(f"initdb failed:\n{self.log.read_text()[-2000:]}")
            options = [f"-c{name}={value}" for name, value in settings.items()]
            self.process = subprocess.Popen([*under, self.program("postgres"), "-D", data, "-p", str(self.port), *options],
                                            stdout=log, stderr=log, cwd="/")
        self.asking = None
        for _ in range(300):
            if self.process.poll() is not None:
                fail(f"the server did not start:\n{self.log.read_text()[-2000:]}")
            ready = subprocess.run([self.program("pg_isready"), "-q", *self.client()], check=False)
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        else:
            fail(f"the server does not answer:\n{self.log.read_text()[-2000:]}")
        self.asking = subprocess.Popen(
            [self.program("psql"), "-X", "-A", "-t", "-q", "-F", "\t", *self.client(), "-d", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.ask("CREATE EXTENSION pg_stat_statements")
        self.ask("CREATE DATABASE sbtest")

    @staticmethod
    def program(name):
        """A program of the newest version that is installed."""
        versions = pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
        return str(max(versions, key=lambda path: float(path.parts[-3])))

    def client(self):
        """The options with which PostgreSQL's programs connect to it."""
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", ACCOUNT]

    def ask(self, sql):
        """Runs a statement on the script's connection; returns its rows."""
        self.asking.stdin.write(f"{sql};\nSELECT '--end--';\n")
        rows = []
        while (line := self.asking.stdout.readline()) != "--end--\n":
            if not line:
                fail(f"the server refused: {sql}")
            rows.append(line.rstrip("\n").split("\t"))
        return rows

    def statements(self):
        """Statements executed so far."""
        return int(self.ask("SELECT sum(calls)::bigint FROM pg_stat_statements")[0][0])

    def rows(self, table):
        """Rows of a table of the database sbtest."""
        count = [self.program("psql"), "-X", "-A", "-t", *self.client(), "-d", "sbtest", "-c", f"SELECT count(*) FROM {table}"]
        return int(subprocess.run(count, stdout=subprocess.PIPE, text=True, check=True).stdout)

    def cpu_s(self):
        """CPU seconds of its running processes so far; each connection has a process."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total = 0.0
        for process in [pid, *children]:
            with contextlib.suppress(OSError):
                total += sum(cpu_s(process))
        return total

    def sysbench(self, database):
        """The options with which sysbench connects to it."""
        return ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={self.port}", f"--pgsql-user={ACCOUNT}",
                f"--pgsql-db={database}"]

    def version(self):
        return self.ask("SHOW server_version")[0][0].split()[0]

    def url(self, database="sbtest"):
        return f"postgres://{ACCOUNT}@127.0.0.1:{self.port}/{database}"

    def stop(self):
        if self.asking:
            self.asking.stdin.close()
            self.asking.wait()
        # A fast shutdown does not wait for clients.
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()


def cpu_s(pid):
    """User and system CPU seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) * TICK_S, int(fields[12]) * TICK_S


def busy_s():
    """CPU seconds that all processes of this host, and other virtual machines (steal), have used so far."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK_S
