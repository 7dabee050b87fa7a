"""What is left to be done about the hits of a match operator, as its plan says."""

from __future__ import annotations

from ensue.automata.compiled import Compiled
from ensue.kernels.graph.chooser import Chooser
from ensue.kernels.graph.distinct import Thinning
from ensue.logic import formula as f
from ensue.logic.formula import Choice
from ensue.plan.residual import Residual
from ensue.plan.residual_operators import adds_only, shown_bits
from ensue.results.match_set import Purpose


def chooser_of(
    choice: Choice | None, residual: Residual | None, compiled: Compiled
) -> Chooser | None:
    """Return what chooses on the match graph; None: nothing is chosen there."""
    if choice is None:
        return None
    operators = () if residual is None else residual.operators
    return Chooser(choice, shown_bits(operators, compiled.variables))


def purpose_of(residual: Residual) -> Purpose:
    """Tell why matches are listed that may be none in the end."""
    bounded = (each.text for each in residual.bounds)
    reasons = residual.unbounded or tuple(dict.fromkeys(bounded))
    why = f"because of {', '.join(reasons)}" if reasons else "because several runs may be one match"
    return Purpose(why, residual.repeated)


def may_refuse(residual: Residual | None, compiled: Compiled) -> bool:
    """Tell whether a match of the automaton may be none in the end."""
    if residual is None:
        return False
    adds = residual.columnar and adds_only(residual.operators)
    return not adds or residual.refuses or compiled.hides


def thinning_of(residual: Residual, compiled: Compiled) -> Thinning | None:
    """Return what joins paths that are one match in the end; None: only listing tells."""
    decided = not (residual.refuses or residual.inner_aggregates or residual.by_word)
    plain = all(isinstance(each, f.Project) for each in residual.operators)
    if not (decided and plain and residual.choice in (None, "MAX")):
        return None
    if residual.consume != "NONE" or residual.adjoined or compiled.plan.clips:
        return None
    visible = shown_bits(residual.operators, compiled.variables)
    return Thinning(visible, largest=residual.choice == "MAX")
