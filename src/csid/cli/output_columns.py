"""Which columns csid predict writes beside the predictions."""

from typing import Annotated, NamedTuple

import typer

from csid.cli.options import split_by_commas


class OutputColumns(NamedTuple):
    """Which columns are written beside the predictions."""

    interval: Annotated[
        float | None,
        typer.Option(
            help="Also write the bounds of predictive intervals of this probability; of classes, the bounds of their "
            "probabilities over posterior draws.",
            min=0.0,
            max=1.0,
        ),
    ] = None
    std: Annotated[
        bool, typer.Option("--std", help="Also write the standard deviation of the predictive distribution.")
    ] = False
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns of DATA to copy, separated by commas; 'all' copies all of them.")
    ] = None

    @property
    def kept(self) -> list[str]:
        """The columns to copy; ["all"] for all of them."""
        return split_by_commas(self.keep)
