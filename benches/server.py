"""A private MariaDB to measure on, and the CPU time that it and others take."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ACCOUNT = "bench"


def fail(text):
    sys.exit(f"benches/{pathlib.Path(sys.argv[0]).name}: {text}")


class Server:
    """A private MariaDB that cannot outlive this script."""

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
            # A server does not run as root; the data belongs to the account that the package made.
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
                 # The disk is not what is measured here.
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
        """Runs a statement over the script's one connection; gives its rows."""
        self.asking.stdin.write(f"{sql};\nSELECT '--end--';\n")
        rows = []
        while (line := self.asking.stdout.readline()) != "--end--\n":
            if not line:
                fail(f"the server refused: {sql}")
            rows.append(line.rstrip("\n").split("\t"))
        return rows

    def status(self, name):
        return int(self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

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


def cpu_s(pid):
    """User and system CPU seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) * TICK_S, int(fields[12]) * TICK_S


def busy_s():
    """CPU seconds that all processes of this host (and its neighbours: steal) have taken so far."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK_S
