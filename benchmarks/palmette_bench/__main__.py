"""`python -m palmette_bench`: one command for each benchmark, imported only when it is called."""

import importlib
import sys
from collections.abc import Sequence

import click

from palmette.errors import PalmetteError

COMMANDS = {
    "automl": ("automl.command", "Run the studies of AutoML-Agent and iML, and compare with other systems."),
    "audit": ("featbench.audit", "Hold FeatBench's own answers to their second definition."),
    "calibrate": ("featbench.calibrate", "Find the fault rates that reproduce the published failure rates."),
    "checks": ("checks", "Count the seeded bugs that the checks catch."),
    "dirty": ("dirty", "Train models on kinds of dirty data."),
    "engine": ("engine", "Time the engine's own work per step."),
    "external": ("external", "Predict a test file: the interface for comparisons of AutoML systems."),
    "features": ("featbench.study_command", "Compare planners on FeatBench under the same seeded faults."),
    "hostile": ("hostile.command", "Run hostile programs at each level of isolation."),
    "kills": ("kills", "Kill runs with kill -9 and check that they resume."),
    "load": ("load", "Run many runs at once and open very long journals."),
    "mle": ("automl.mle", "Run one competition in the layout of MLE-bench, up to its medal."),
    "speed": ("featbench.speed", "Time generated feature scripts beside the gold ones."),
}
"""By name: the module that has the command as `main`, and its help."""


class _BenchCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"palmette_bench.{COMMANDS[cmd_name][0]}").main
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_BenchCommands, context_settings={"help_option_names": ["-h", "--help"]})
def bench() -> None:
    """Measure what palmette claims. Exit status: 0 as required, 1 a requirement is missed, 2 a usage error."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits."""
    try:
        bench.main(arguments, prog_name="python -m palmette_bench")
    except PalmetteError as error:
        click.echo(f"{error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
