"""What a query becomes, and what that means for its cost, in words."""

from __future__ import annotations

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each
from ensue.analysis.types import Type
from ensue.automata.build import Compiled, NotUnaryError, compile_formula
from ensue.automata.draw import Drawing, draw
from ensue.automata.words import predicate_text
from ensue.errors import EnsueError
from ensue.language.printer import format_query
from ensue.logic.build import to_formula
from ensue.logic.formula import (
    Filter,
    Formula,
    Select,
    Sequence,
    Unless,
    describe,
    is_unary,
    subformulas,
)
from ensue.plan.as_partition import equal_attribute
from ensue.plan.explain_aggregates import ON_GRAPH, aggregates, listing_cost, why_listed
from ensue.plan.residual_operators import asks_neighbours, take_off
from ensue.results.correlation import is_equality


def explain(bound: BoundQuery) -> str:
    """Tell the formula, the predicates, the automaton, the cost and what can run in parallel."""
    formula = to_formula(bound)
    parts = [
        ("query", format_query(bound.tree)),
        ("formula", describe(formula)),
        *_machine_parts(bound, formula),
        ("in parallel", _parallel(bound, formula)),
    ]
    return "\n\n".join(f"{title}\n{_indented(text)}" for title, text in parts)


def automaton_of(bound: BoundQuery) -> Drawing:
    """Return the automaton of a query, to be drawn."""
    try:
        return draw(_compiled(bound, to_formula(bound)))
    except NotUnaryError as error:
        raise EnsueError(f"there is no automaton yet for {error}") from error


def _machine_parts(bound: BoundQuery, formula: Formula) -> list[tuple[str, str]]:
    try:
        compiled = _compiled(bound, formula)
    except NotUnaryError as error:
        reason = f"by definition, because of {error}: slow, for small streams only"
        return [("evaluation", reason)]
    operators = take_off(formula)[1]
    drawing = draw(compiled)
    conditions = "" if is_unary(formula) else _conditions(compiled, formula)
    equal = None if not conditions else equal_attribute(bound, formula)
    if equal is not None:
        conditions += "\n" + _AS_PARTITION.format(equal)
    between = [("conditions", conditions)] if conditions else []
    computed = aggregates(compiled, operators)
    cost = _cost(bound, drawing, compiled)
    if bound.totals is not None:
        reasons = why_listed(bound, compiled, operators)
        if reasons:
            cost = "\n".join([listing_cost(reasons), *_key_cost(bound)])
        elif compiled.plan.instances:
            cost = "\n".join([ON_GRAPH, *_key_cost(bound)])
    return [
        ("predicates", _predicates(compiled)),
        ("automaton", _automaton(drawing)),
        *between,
        *([("aggregates", computed)] if computed else []),
        ("cost", cost),
    ]


def _compiled(bound: BoundQuery, formula: Formula) -> Compiled:
    """Compile as an evaluation does; attributes of unknown type are taken for numbers."""

    def type_of(path: tuple[str, ...]) -> Type:
        return bound.schema.type_of(path, None) or Type.UNKNOWN

    core, operators = take_off(formula)
    adjoins = asks_neighbours(operators)
    return compile_formula(core, type_of, assume_numbers=True, adjoins=adjoins)


def _conditions(compiled: Compiled, formula: Formula) -> str:
    """Tell how each condition between events is decided."""
    ways = _ways(compiled)
    texts = dict.fromkeys(
        condition.text
        for each in subformulas(formula)
        if isinstance(each, Filter)
        for condition in each.conditions
        if not isinstance(condition, Each) or condition.text in ways
    )
    lines = [f"{text}:  {ways.get(text, _ONE_EVENT)}" for text in texts]
    count = compiled.plan.registers
    if count:
        lines.append(f"{count} registers; runs with equal contents are one configuration")
    lines += [
        f"UNLESS {number + 1} is evaluated beside the pattern, and decided as matches are listed"
        + (_CORRELATED if absent.plan.correlated else "")
        for number, absent in enumerate(compiled.absent)
    ]
    if compiled.hides:
        lines.append(
            "matches are told apart by more than they show: doubles are dropped on listing"
        )
    return "\n".join(lines)


_AS_PARTITION = (
    "all events have one {0}, so PARTITION BY [{0}] would find the same; by the index an event "
    "meets no other {0} either"
)
_ONE_EVENT = "a predicate, because its variables are bound to one event"
_HASH = "hash index; an event finds its partners in a time that does not grow with the window"
_TREE = (
    "search tree; an event visits the different values that it passes; few, or many at a time, are "
    "scanned"
)
_CORRELATED = (
    "; its own matches are kept as far as the window reaches, by the values of their equalities "
    "with the pattern"
)
_BY_VALUE = (
    "by the value of the events left of UNLESS; one lookup for each match, however many of what "
    "must not happen there are"
)
_IN_INTERVAL = (
    "on listing, for each match with all of what must not happen inside its interval that the "
    "equalities leave"
)
_LISTING = "on listing; matches are found without it, and each is checked as it is listed"


def _ways(compiled: Compiled) -> dict[str, str]:
    """Return how the condition with a text is decided, and what that costs."""
    ways: dict[str, str] = {}
    for instance in compiled.plan.instances:
        signs = {sign for watch in instance.watches for _, sign in watch.compare}
        ways[instance.text] = _HASH if signs == {"="} else _TREE
    for deferred in compiled.plan.deferred:
        ways[deferred.condition.text] = _LISTING
    for interval in compiled.plan.intervals:
        absent = compiled.absent[interval.absent]
        outer = frozenset(name for name, _ in interval.outer)
        ways |= _ways(absent) | {
            each.condition.text: _BY_VALUE if is_equality(each, outer) else _IN_INTERVAL
            for each in absent.plan.correlated
        }
    return ways


def _predicates(compiled: Compiled) -> str:
    if not compiled.predicates:
        return "none: every event will do"
    lines = [f"{number}  {predicate_text(each)}" for number, each in enumerate(compiled.predicates)]
    return "\n".join(lines)


def _automaton(drawing: Drawing) -> str:
    lines = []
    for edge in drawing.edges:
        source = "start" if edge.source == 0 else str(edge.source)
        target = " and ".join(["match"] * edge.final + [str(edge.target)] * (edge.target >= 0))
        bound = f" / {edge.label}" if edge.label else ""
        lines.append(
            f"{source} -> {target}:  {' and '.join(edge.conditions) or 'any event'}{bound}"
        )
    if not drawing.complete:
        lines.append("… and more than can be shown")
    return "\n".join(lines)


def _cost(bound: BoundQuery, drawing: Drawing, compiled: Compiled) -> str:
    states = f"{drawing.states - 1}" if drawing.complete else "very many"
    lines = [
        f"An event visits at most {states} states, whatever the window and the number of partial "
        "matches."
    ]
    if compiled.plan.registers:
        lines = [
            f"An event visits the configurations of at most {states} states: those that an index "
            "finds, at most as many as there are different register contents in the window, "
            "however many partial matches share them."
        ]
    if bound.totals is not None:
        return "\n".join([*_counting_cost(bound, states), *_key_cost(bound)])
    if bound.window is None:
        lines.append("Without WITHIN every start stays alive: memory grows with the stream.")
    else:
        lines.append("Memory is bounded by what starts within the window.")
    return "\n".join([*lines, *_key_cost(bound)])


def _key_cost(bound: BoundQuery) -> list[str]:
    if not bound.partition:
        return []
    return ["Every key has states of its own; keys without partial matches cost nothing."]


def _counting_cost(bound: BoundQuery, states: str) -> list[str]:
    """Tell what it costs to count without listing."""
    numbers = 1 + len(bound.totals.columns if bound.totals is not None else ())
    lines = [
        "Matches are counted, not listed: an event adds up the runs of at most "
        f"{states} states, {numbers} number{'s' if numbers > 1 else ''} each, however many matches "
        "there are."
    ]
    if bound.window is None:
        lines.append("Memory does not grow with the stream.")
    else:
        lines.append(
            "The window slides by a product of matrices on two stacks: an event enters and leaves "
            "once, so the time per event does not follow the window; memory does."
        )
    return lines


def _parallel(bound: BoundQuery, formula: Formula) -> str:
    if bound.consume == "ANY":
        return "no: CONSUME BY ANY makes every match depend on all before it"
    if bound.partition:
        keys = ", ".join(".".join(path) for path in bound.partition)
        return f"by key ({keys}): keys never meet"
    parts = list(subformulas(formula))
    if any(isinstance(each, Select) and each.strategy == "START" for each in parts):
        return "no: START looks at the stream's first event"
    if bound.window is None:
        return "no: without a key and a window, everything may belong together"
    if bound.window.kind == "events":
        return "no: a window in EVENTS without a key needs the positions of all events"
    touching = any(isinstance(each, Sequence) and each.contiguous for each in parts)
    guarded = any(isinstance(each, Unless) for each in parts)
    note = " (events that satisfy no predicate must be kept)" if touching or guarded else ""
    return f"by slices of time that overlap by the window{note}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
