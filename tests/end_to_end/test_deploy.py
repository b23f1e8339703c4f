"""What an operator installs: units, a container, an example of the configuration."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from compactor.cli import cli
from compactor.config import Config, load_config
from compactor.errors import ConfigError
from session.errors import StoreBusyError
from tests.end_to_end.support import LOW_FLOORS, ROOT, SAMPLES, Ran, copy_sessions

DEPLOY = ROOT / "deploy"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
SERVICES = ("compactor.service", "compactor-once.service")
UNITS = (*SERVICES, "compactor-once.timer")
WORST_EXPOSURE = 20  # of 100, as `systemd-analyze security` takes it
UNITS_OF_SYSTEMD = Path("/usr/lib/systemd/system")
CONFIG_PLACE = "/etc/idle-compactor/config.toml"

# Asks the kernel for what systemd asks it for since 253, then becomes the worker.
NOT_DENIED = 99
WITHOUT_EXECUTABLE_MEMORY = f"""
import ctypes, mmap, os, sys
PR_SET_MDWE, REFUSE_EXEC_GAIN, *rest = map(ctypes.c_ulong, (65, 1, 0, 0, 0))
ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, *rest)
try:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
except PermissionError:
    os.execv(sys.executable, [sys.executable, "-m", "compactor", *sys.argv[1:]])
sys.exit({NOT_DENIED})
"""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None or not UNITS_OF_SYSTEMD.is_dir(),
    reason="systemd is not installed (.ci/run installs it, as root)",
)


def settings_of(unit: str) -> dict[str, list[str]]:
    """Return all settings of a unit, in order; the sections need no telling apart here."""
    settings: dict[str, list[str]] = {}
    for line in (DEPLOY / unit).read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            settings.setdefault(name, []).append(value)
    return settings


def setting_of(unit: str, name: str) -> str:
    """Return a setting that stands in a unit once."""
    (value,) = settings_of(unit)[name]
    return value


# What systemd itself says of the units.


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Make the root of a machine on which everything is where the units expect it."""
    installed = tmp_path / "etc/systemd/system"
    installed.mkdir(parents=True)
    for unit in UNITS:
        shutil.copy(DEPLOY / unit, installed)
    known = tmp_path / "usr/lib/systemd/system"
    known.mkdir(parents=True)
    for target in UNITS_OF_SYSTEMD.glob("*.target"):
        shutil.copy(target, known)
    for program in ("opt/idle-compactor/bin/compactor", "bin/kill"):
        (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / program).touch(0o755)
    return tmp_path


def analyze(machine: Path, *arguments: str) -> Ran:
    """Run `systemd-analyze` on that machine."""
    done = subprocess.run(
        ["systemd-analyze", f"--root={machine}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_no_fault_in_a_unit(machine: Path, unit: str) -> None:
    """Neither an error nor a warning, such as one for a setting that it does not know."""
    assert analyze(machine, "--recursive-errors=yes", "verify", unit) == Ran(0, "", "")


@needs_systemd
@pytest.mark.parametrize("service", SERVICES)
def test_systemd_misses_a_command_that_is_elsewhere(machine: Path, service: str) -> None:
    """The test above does look at the command."""
    (machine / "opt/idle-compactor/bin/compactor").unlink()
    ran = analyze(machine, "--recursive-errors=yes", "verify", service)
    assert ran.code != 0
    assert "/opt/idle-compactor/bin/compactor is not executable" in ran.err


@needs_systemd
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_exposes_little(machine: Path, service: str) -> None:
    """Far below what systemd calls medium."""
    options = ("--offline=yes", f"--threshold={WORST_EXPOSURE}", "--no-pager")
    ran = analyze(machine, "security", *options, service)
    assert ran.code == 0, ran.out


@needs_systemd
@pytest.mark.parametrize("unit", ["compactor.service", "compactor-once.timer"])
def test_systemd_takes_what_the_docs_say_to_edit(machine: Path, unit: str) -> None:
    """An example in docs/operations.md is a drop-in without a fault."""
    section = "Timer" if unit.endswith(".timer") else "Service"
    (example,) = re.findall(rf"(?s)```ini\n(\[{section}\]\n.*?)```", OPERATIONS)
    folder = machine / f"etc/systemd/system/{unit}.d"
    folder.mkdir()
    (folder / "override.conf").write_text(example)
    assert analyze(machine, "--recursive-errors=yes", "verify", unit) == Ran(0, "", "")
    (folder / "override.conf").write_text(example.replace("=", "=\\x/:", 1))
    assert analyze(machine, "--recursive-errors=yes", "verify", unit) != Ran(0, "", "")


# The units and the program.


def started_by(where: str) -> list[str]:
    """Return what a unit or the container starts, without the program's own name."""
    if where in SERVICES:
        program, *arguments = shlex.split(setting_of(where, "ExecStart"))
        assert program == "/opt/idle-compactor/bin/compactor"
        return arguments
    found = re.search(r"(?m)^CMD (\[.*\])$", (DEPLOY / where).read_text())
    assert found
    return list(json.loads(found[1]))


@pytest.mark.parametrize("where", [*SERVICES, "Containerfile"])
def test_the_program_understands_what_is_started(where: str) -> None:
    """The command exists, with these options, and reads the file that the docs name."""
    name, *options = started_by(where)
    assert name in cli.commands
    context = cli.commands[name].make_context(name, options, parent=click.Context(cli))
    assert context.params["config_file"] == Path(CONFIG_PLACE)


@pytest.mark.parametrize("service", SERVICES)
def test_the_credential_has_the_name_that_is_looked_for(service: str) -> None:
    """By default, by the example, and in the container."""
    credential, _ = setting_of(service, "LoadCredential").split(":")
    shipped = load_config(ROOT / "config.toml").llm.api_key_env
    assert credential == shipped == load_config(DEPLOY / "config.toml").llm.api_key_env
    assert f"target: {credential}\n" in (DEPLOY / "compose.yaml").read_text()


def test_a_wrong_configuration_is_not_started_again() -> None:
    """The worker's exit code is the one that the unit does not restart after."""
    prevented = setting_of("compactor.service", "RestartPreventExitStatus").split()
    assert prevented == [str(ConfigError.exit_code)]


def test_a_pass_that_another_worker_does_is_no_failure() -> None:
    """The timer's unit is not red because of it."""
    fine = setting_of("compactor-once.service", "SuccessExitStatus").split()
    assert fine == [str(StoreBusyError.exit_code)]


def test_a_pass_has_the_time_that_it_takes() -> None:
    """A pass that keeps to its own deadline is not killed."""
    minutes = int(setting_of("compactor-once.service", "TimeoutStartSec").removesuffix("min"))
    assert minutes * 60 > Config().limits.pass_deadline.total_seconds()


def test_the_worker_needs_no_memory_that_is_writable_and_executable(tmp_path: Path) -> None:
    """MemoryDenyWriteExecute= does not keep it from exchanging two names through ctypes."""
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    copy_sessions(SAMPLES, sessions)
    (tmp_path / "config.toml").write_text(LOW_FLOORS)
    arguments = ("once", "--json", "--config", str(tmp_path / "config.toml"))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXECUTABLE_MEMORY, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NOT_DENIED:
        pytest.skip("the kernel is older than 6.3 and can't deny it without systemd")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compacted"] > 0


def test_both_services_are_fenced_alike() -> None:
    """What one may not do, the other may not either."""
    own = {"Type", "ExecStart", "ExecReload", "Description", "WantedBy", "StartLimitIntervalSec"}
    own |= {"Restart", "RestartSec", "RestartPreventExitStatus", "SuccessExitStatus"}
    own |= {"WatchdogSec", "TimeoutStartSec"}
    worker, once = (
        {name: value for name, value in settings_of(service).items() if name not in own}
        for service in SERVICES
    )
    assert worker == once
    assert worker["MemoryDenyWriteExecute"] == ["yes"]


# The page of the operator.


def test_the_docs_name_only_files_that_are_there() -> None:
    """Each file that a command installs or reads is in the distribution."""
    named = set(re.findall(r"deploy/[\w.-]+[a-z]", OPERATIONS)) - {"deploy/openai-api-key"}
    assert {f"deploy/{unit}" for unit in UNITS} <= named
    assert all((ROOT / name).is_file() for name in named)


def test_the_docs_give_every_path_where_the_units_look() -> None:
    """A copied command puts a file where a unit expects it."""
    for service in SERVICES:
        _, key = setting_of(service, "LoadCredential").split(":")
        program = setting_of(service, "ExecStart").split()[0]
        for path in (key, CONFIG_PLACE, program):
            assert path in OPERATIONS, path


def test_the_docs_reset_the_binds_once_and_first() -> None:
    """An empty setting of either kind removes all binds, also those that stand ahead of it."""
    (example,) = re.findall(r"(?s)```ini\n\[Service\]\n(.*?)```", OPERATIONS)
    binds = [line.split("=") for line in example.splitlines() if line.startswith("Bind")]
    assert [value == "" for _, value in binds] == [True, False, False]


# The example of a configuration.


def test_the_example_loads() -> None:
    """Without a fault, and with no key that the shipped file does not explain."""
    config = load_config(DEPLOY / "config.toml")
    shipped = tomllib.loads((ROOT / "config.toml").read_text())
    for section, values in tomllib.loads((DEPLOY / "config.toml").read_text()).items():
        assert values.keys() <= shipped[section].keys()
    for service in SERVICES:
        assert config.state.dir == f"/var/lib/{setting_of(service, 'StateDirectory')}"
        sessions = config.store.url.removeprefix("jsonl:").removesuffix("/*")
        assert sessions == setting_of(service, "BindPaths")


# The containers.


def test_agent_and_worker_share_user_and_folder() -> None:
    """As one user, on one volume at one place; the state is the worker's own."""
    yaml: Any = pytest.importorskip("yaml", reason="no library for YAML is installed")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    agent, worker = compose["services"]["agent"], compose["services"]["compactor"]
    assert agent["user"] == worker["user"]
    (shared,) = agent["volumes"]
    assert shared in worker["volumes"]
    folder = shared.split(":")[1]
    config = load_config(DEPLOY / "config.toml")
    assert config.store.url.startswith(f"jsonl:{folder}/sessions")
    assert f"state:{config.state.dir}" in worker["volumes"]
    assert f"./config.toml:{CONFIG_PLACE}:ro" in worker["volumes"]
    assert set(compose["volumes"]) == {"agent", "state"}
    credentials = worker["environment"]["CREDENTIALS_DIRECTORY"]
    assert credentials == "/run/secrets"  # where compose puts them
    for secret in worker["secrets"]:
        assert secret["source"] in compose["secrets"]
    assert (DEPLOY / worker["build"]["context"] / worker["build"]["dockerfile"]).is_file()


def test_the_image_is_built_from_what_is_there() -> None:
    """Each file that is copied exists, and its state is where the example says."""
    text = (DEPLOY / "Containerfile").read_text()
    for line in re.findall(r"(?m)^COPY (?!--)(.*)", text):
        *copied, _ = line.split()
        assert all((ROOT / name).exists() for name in copied), line
    assert f"VOLUME {load_config(DEPLOY / 'config.toml').state.dir}\n" in text


def test_the_image_constrains_every_version_of_the_lock() -> None:
    """The command in the Containerfile finds each package of the lock, and no hash."""
    found = re.search(r"sed -n '(.*)' requirements\.lock", (DEPLOY / "Containerfile").read_text())
    assert found
    done = subprocess.run(
        ["sed", "-n", found[1], ROOT / "requirements.lock"],
        capture_output=True,
        text=True,
        check=True,
    )
    pinned = re.findall(r"(?m)^([^\s#]+==\S+)", (ROOT / "requirements.lock").read_text())
    assert done.stdout.split() == pinned
