"""The command line: what can be said, and what a command ends with.

What a command does is imported when it is called, so that `--help` costs next to nothing.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compactor.errors import CompactorError
from compactor.printable import printable
from session.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Command = TypeVar("Command", bound="Callable[..., Any]")

INTERRUPTED_EXIT = 130
_COMMON = ("config_file", "url", "as_json", "verbose")


def _common(command: Command) -> Command:
    """Give a command the options that all of them have."""
    options = [
        click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Configuration file.  [default: $COMPACTOR_CONFIG, then ./config.toml]",
        ),
        click.option("--store", "url", metavar="URL", help="In place of [store] url."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option("--verbose", is_flag=True, help="Log more, to standard error."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_folder = click.option("--folder", metavar="NAME", help="Only the sessions of this folder.")
_all = click.option("--all", "everything", is_flag=True, help="List the skipped sessions too.")
_keys = click.option(
    "--key", "keys", multiple=True, metavar="KEY", help="Only this session (repeatable)."
)
_force = click.option(
    "--force", is_flag=True, help="Ignore the TTL, `parked` and `held`; nothing else."
)


def _run(name: str, arguments: dict[str, Any]) -> int:
    """Do what a command does, with what all commands are told set up."""
    from compactor import commands
    from compactor.setup import Setup

    common = {option: arguments.pop(option) for option in _COMMON}
    do: Callable[..., int] = getattr(commands, name)
    setup = Setup.load(**common)
    setup.start_log()
    try:
        return do(setup, **arguments)
    except (CompactorError, SessionError) as error:
        return _tell(setup.say(error), error.exit_code)


def _tell(problem: str, code: int) -> int:
    click.echo(f"compactor: {printable(problem, lines=True)}", err=True)
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="idle-compactor", message="%(prog)s %(version)s")
def cli() -> None:
    """Compact the idle sessions of a chat agent, and lose nothing.

    A session that has been idle longer than the TTL gets a compact entry that stands for its old
    messages; the recent ones stay as they are. Messages never change: `undo` takes it all back.

    Try it with `compactor demo`. See what a pass would do with `compactor scan --store
    jsonl:/path/to/sessions`, and do it with `compactor once --store jsonl:/path/to/sessions`.
    """


@cli.command()
@_common
def run(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Scan on a schedule until stopped: the worker beside an agent.

    The first pass is made at once, the next ones as [idle] scan_every says. SIGTERM and Ctrl-C end
    it: nothing new is begun, calls under way get [limits] grace, and it exits 0. SIGHUP reads the
    configuration again, all of it or nothing. With --json each pass is one line.
    """
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "SIGHUP"):  # absent on Windows
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is being read for the first time
    return _run("run", arguments)


def _leave(_number: int, _frame: object) -> None:
    """End before anything was begun."""
    sys.exit(0)


@cli.command()
@_common
@_folder
@_all
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
@_keys
@_force
@click.option(
    "--engine", type=click.Choice(["openai", "digest"]), help="In place of [summary] engine."
)
@click.option("--agent-stopped", is_flag=True, help="No agent is running: no lock to share.")
def once(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Make one pass over all sessions, then exit.

    Meant for a systemd timer or cron, and for the moment before an agent starts. Exits 3 if a
    session failed, 69 if the sessions can't be read, 75 if another worker holds them.
    """
    return _run("once", arguments)


@cli.command()
@_common
@_folder
@_all
@_keys
@_force
def scan(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Say what a pass would do and why, session by session.

    Changes nothing, asks no model, and needs no lock.
    """
    return _run("scan", arguments)


@cli.command()
@click.argument("key")
@_common
@_folder
@click.option("--prompt", is_flag=True, help="Show exactly what an agent would send.")
def show(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Show a session's compact entry, where it comes from, and the kept messages."""
    return _run("show", arguments)


@cli.command()
@click.argument("key")
@_common
@_folder
@click.option("--all", "everything", is_flag=True, help="Back to the full transcript.")
def undo(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Take back the last compaction of a session.

    The entry before it stands again, or none. The session is then left alone until the user speaks
    again, or until `compactor once --key KEY --force`.
    """
    return _run("undo", arguments)


@cli.command()
@_common
@click.option(
    "--passes",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="How many of the last passes to list.",
)
def status(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Say whether a worker runs, what it did lately, and which sessions are parked or held."""
    return _run("status", arguments)


@cli.command()
@_common
def check(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Look whether it can work here, line by line, and say what to do where it can't.

    The configuration and where each value comes from (--verbose: all of them), the sessions, whose
    files they are, the disk, the clock, the journal, whether the agent will see a compaction, and
    the model, which is asked one small question. Exits with the code of the first failure.
    """
    from compactor.checkup import check_up

    return check_up(**arguments)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--dir",
    "target",
    type=click.Path(path_type=Path, file_okay=False),
    help="Work in this new folder and leave it there, to look around in.",
)
def demo(**arguments: Any) -> int:  # noqa: ANN401 - handed on as they are
    """Compact sample sessions in a throw-away folder, and show before and after.

    Needs no key and no network: the entries are written by the built-in digest engine.
    """
    from compactor.demo import run_demo

    return run_demo(**arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code; the one broad `except` around everything is here."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that can't show a character
    try:
        code = cli.main(args=arguments, prog_name="compactor", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = INTERRUPTED_EXIT
    except BrokenPipeError:  # whoever reads us has seen enough
        code = 0
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (CompactorError, SessionError) as error:
        code = _tell(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - its own text may quote what people wrote
        kind = type(error).__name__
        with suppress(OSError):  # that nobody reads us may be the error
            click.echo(f"compactor: an error that nobody expected ({kind})", err=True)
            click.echo("".join(traceback.format_tb(error.__traceback__)), err=True, nl=False)
            click.echo("compactor: please report it, with the lines above", err=True)
        code = CompactorError.exit_code
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads it any more: nothing is to be said of that at the very end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
