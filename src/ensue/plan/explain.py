"""What a query becomes, and what that means for its cost, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each
from ensue.automata.compiled import Compiled
from ensue.automata.draw import Drawing, draw
from ensue.automata.words import predicate_text
from ensue.errors import EnsueError
from ensue.language.printer import format_query
from ensue.logic.formula import (
    Aggregate,
    Filter,
    Formula,
    Project,
    Select,
    describe,
    is_unary,
    subformulas,
)
from ensue.options import ReadOptions
from ensue.plan.as_partition import equal_attribute
from ensue.plan.columns import columns_read
from ensue.plan.correlated import is_equality
from ensue.plan.explain_aggregates import (
    ON_GRAPH,
    aggregate_name,
    aggregates,
    listing_cost,
    why_listed,
)
from ensue.plan.physical import PhysicalPlan


def explain(plan: PhysicalPlan) -> str:
    """Describe the formula, the predicates, the automaton, the cost and the distribution."""
    parts = [
        ("query", format_query(plan.bound.tree)),
        ("formula", describe(plan.formula)),
        *_automaton_parts(plan),
        ("distribution", str(plan.distribution)),
    ]
    return "\n\n".join(f"{title}\n{_indented(text)}" for title, text in parts)


def automaton_of(plan: PhysicalPlan) -> Drawing:
    """Return the automaton of a query, to be drawn."""
    if plan.compiled is None:
        raise EnsueError(f"there is no automaton yet for {plan.why}")
    return draw(plan.compiled)


def describe_plan(plan: PhysicalPlan) -> str:
    """Describe a plan in a few lines: operator, what is left to listing, columns, distribution."""
    because = f", because of {plan.why}" if plan.why else ""
    lines = [f"operator: {plan.operator}{because}"]
    if plan.compiled is not None:
        compiled = plan.compiled
        lines.append(f"automaton: {len(compiled.predicates)} predicates on single events")
        if compiled.plan.registers:
            lines.append(f"registers: {compiled.plan.registers}")
    if plan.residual is not None:
        lines.append(
            f"left to listing: {', '.join(_left_to_listing(plan)) or 'duplicates are dropped'}"
        )
    columns = columns_read(plan, ReadOptions())
    lines.append(f"columns: {', '.join(sorted(columns or ())) or 'none'}")
    lines.append(f"distribution: {plan.distribution}")
    return "\n".join(lines)


def _left_to_listing(plan: PhysicalPlan) -> Iterator[str]:
    """Name what is decided as matches are listed."""
    assert plan.residual is not None
    residual = plan.residual
    yield from (deferred.condition.text for deferred in residual.deferred)
    yield from (
        f"AGGREGATE {inner_aggregate.formula.variable}"
        for inner_aggregate in residual.inner_aggregates
    )
    if residual.intervals:
        yield "UNLESS with conditions between events"
    for operator in residual.operators:
        match operator:
            case Aggregate():
                yield aggregate_name(operator)
            case Filter(conditions=conditions):
                yield from (condition.text for condition in conditions)
            case Select(strategy=strategy):
                yield strategy
            case Project():
                yield "the projection"


def _automaton_parts(plan: PhysicalPlan) -> list[tuple[str, str]]:
    bound, formula, compiled = plan.bound, plan.formula, plan.compiled
    if compiled is None:
        reason = f"by definition, because of {plan.why}: slow, for small streams only"
        return [("evaluation", reason)]
    drawing = draw(compiled)
    conditions = "" if is_unary(formula) else _conditions(compiled, formula)
    equal = None if not conditions else equal_attribute(bound, formula)
    if equal is not None:
        conditions += "\n" + _AS_PARTITION.format(equal)
    between = [("conditions", conditions)] if conditions else []
    computed = aggregates(compiled, plan.operators)
    return [
        ("predicates", _predicates(compiled)),
        ("automaton", _automaton(drawing)),
        *between,
        *([("aggregates", computed)] if computed else []),
        ("cost", "\n".join([*_cost(plan, drawing, compiled), *_key_cost(bound)])),
    ]


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
        lines.append("several runs may be one match: duplicates are dropped on listing")
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


def _cost(plan: PhysicalPlan, drawing: Drawing, compiled: Compiled) -> list[str]:
    bound = plan.bound
    states = f"{drawing.states - 1}" if drawing.complete else "very many"
    match plan.operator:
        case "count by listing":
            return [listing_cost(why_listed(bound, compiled, plan.operators))]
        case "count on the graph":
            return [ON_GRAPH]
        case "count":
            return _counting_cost(bound, states)
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
    if bound.window is None:
        lines.append("Without WITHIN every start stays alive: memory grows with the stream.")
    else:
        lines.append("Memory is bounded by what starts within the window.")
    return lines


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


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
