"""A real Slurm of one node, started for the tests and stopped after them: its daemons in one folder."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol")
SETTINGS = """
ClusterName=sonde
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
KillWait=3
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


class Unavailable(Exception):
    """Why there is no Slurm here."""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.daemons = []
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
        }
        missing = [name for name in PROGRAMS if not shutil.which(name, path=self.environment["PATH"])]
        if missing:
            raise Unavailable(f"{', '.join(missing)}: not installed")
        if os.geteuid() != 0:
            raise Unavailable("its daemons are started by root alone")
        try:
            self.start()
        except Exception:
            self.stop()
            raise

    def start(self):
        self.start_munge()
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        settings = SETTINGS.format(
            host=socket.gethostname().split(".")[0],
            folder=self.folder,
            ports=free_ports(2),
            processors=os.cpu_count(),
        )
        (self.folder / "slurm.conf").write_text(settings)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        self.wait(lambda: "idle" in self.run("sinfo", "-h", "-o", "%t").stdout, "the node did not come up")

    def start_munge(self):
        """It insists on a key and a folder that are its own user's."""
        folder = self.folder / "munge"
        folder.mkdir()
        (folder / "key").write_bytes(secrets.token_bytes(128))
        os.chmod(folder / "key", 0o400)
        user = "munge" if subprocess.run(["id", "munge"], capture_output=True).returncode == 0 else "root"
        for path in (folder, folder / "key"):
            shutil.chown(path, user, user)
        self.folder.chmod(0o755)  # its user must get in
        command = ["munged", "--foreground", "--force", "--num-threads=1"]
        command += [f"--{name}={folder}/{file}" for name, file in MUNGE_FILES.items()]
        self.daemon(
            "runuser", "-u", user, "--", shutil.which("munged", path=self.environment["PATH"]), *command[1:]
        )
        self.wait((folder / "socket").exists, "munged did not come up")

    def daemon(self, *command):
        with open(self.folder / f"{Path(command[0]).name}.out", "w") as out:
            self.daemons.append(
                subprocess.Popen(command, env=self.environment, stdout=out, stderr=subprocess.STDOUT)
            )

    def wait(self, condition, complaint, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise Unavailable(
                    f"{complaint}; {ended[0] if ended else 'no daemon'} ended: {self.complaints()}"
                )
            time.sleep(0.1)

    def complaints(self):
        logs = [*self.folder.glob("*.out"), *self.folder.glob("*.log"), *self.folder.glob("munge/log")]
        lines = [
            line for log in logs for line in log.read_text().splitlines() if "rror" in line or "atal" in line
        ]
        return "; ".join(lines[-3:])

    def run(self, *command, **options):
        """A finished command of Slurm's, in its environment."""
        return subprocess.run(
            [str(word) for word in command],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=options.pop("timeout", 60),
            **options,
        )

    def state(self, job):
        done = self.run("scontrol", "-o", "show", "job", job)
        return dict(pair.split("=", 1) for pair in done.stdout.split() if "=" in pair).get("JobState", "")

    def wait_for_end(self, job, seconds=60):
        self.wait(
            lambda: self.state(job) not in {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"},
            f"job {job} goes on",
            seconds,
        )
        return self.state(job)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


MUNGE_FILES = {
    "socket": "socket",
    "key-file": "key",
    "pid-file": "pid",
    "log-file": "log",
    "seed-file": "seed",
}
