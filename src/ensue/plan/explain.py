"""What a query becomes, and what that means for its cost, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ensue.analysis.bound import BoundQuery
from ensue.analysis.conditions import Each
from ensue.analysis.context import count
from ensue.analysis.derived import Level
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
    Within,
    describe,
    is_unary,
    subformulas,
)
from ensue.options import DEFAULT_LIMITS, ReadOptions
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
from ensue.plan.explain_choice import CHOSEN, choice_text
from ensue.plan.explain_registers import costs
from ensue.plan.physical import PhysicalPlan


def explain(plan: PhysicalPlan) -> str:
    """Describe the cost and the plan, then the formula, the predicates and the automaton."""
    return "\n\n".join(f"{title}\n{indented(text)}" for title, text in explained_parts(plan))


def explained_parts(plan: PhysicalPlan) -> list[tuple[str, str]]:
    """Return the parts of an explanation, each with its title."""
    (cost, *decided), machinery = _automaton_parts(plan)
    return [
        cost,
        ("plan", describe_plan(plan)),
        *decided,
        *_deadline_parts(plan),
        ("query", format_query(plan.bound.tree)),
        ("formula", describe(plan.formula)),
        *machinery,
    ]


def explain_levels(levels: Sequence[Level], plans: Sequence[PhysicalPlan]) -> str:
    """Draw the chain of derived streams, and explain each of its queries."""
    parts = [("chain", chain_text(levels))]
    parts += [
        (level_title(level), explain(plan)) for level, plan in zip(levels, plans, strict=True)
    ]
    return "\n\n".join(f"{title}\n{indented(text)}" for title, text in parts)


def chain_text(levels: Sequence[Level]) -> str:
    """Write which streams each query of a chain reads, a line for each query."""
    names = [level.name or "the query" for level in levels]
    reads = [", ".join((*level.given, *level.derived)) for level in levels]
    width = max(map(len, reads))
    return "\n".join(f"{read:<{width}} ──▶ {name}" for read, name in zip(reads, names, strict=True))


def level_title(level: Level) -> str:
    """Return the heading of one query of a chain."""
    return f"stream {level.name}" if level.name else "the query"


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
        predicates = count(len(compiled.predicates), "predicate")
        lines.append(f"automaton: {predicates} on single events")
        if compiled.plan.registers:
            lines.append(f"registers: {compiled.plan.registers}")
    if plan.choice is not None:
        lines.append(f"choice: SELECT {plan.choice}, on the match graph")
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
    if not all(each.after for each in residual.intervals):
        yield "UNLESS with conditions between events"
    if any(each.after for each in residual.intervals):
        yield "NOT FOLLOWED BY with conditions on events of the match"
    if residual.choice is not None:
        yield f"SELECT {residual.choice}"
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


def _automaton_parts(
    plan: PhysicalPlan,
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what a query costs and how its parts are decided, and then what it becomes."""
    bound, formula, compiled = plan.bound, plan.formula, plan.compiled
    if compiled is None:
        reason = f"by definition, because of {plan.why}: slow, for small streams only"
        return [("evaluation", reason)], []
    drawing = draw(compiled)
    conditions = (
        "" if is_unary(formula) else _conditions(compiled, formula, chooses=plan.choice is not None)
    )
    equal = None if not conditions else equal_attribute(bound, formula)
    if equal is not None:
        conditions += "\n" + _AS_PARTITION.format(equal)
    between = [("conditions", conditions)] if conditions else []
    computed = aggregates(compiled, plan.operators)
    chosen = choice_text(plan)
    costs = [
        ("cost", "\n".join([*_cost(plan, drawing, compiled), *_key_cost(bound)])),
        *between,
        *([("aggregates", computed)] if computed else []),
        *([("choice", chosen)] if chosen else []),
    ]
    machinery = [("predicates", _predicates(compiled)), ("automaton", _automaton(drawing))]
    return costs, machinery


def _deadline_parts(plan: PhysicalPlan) -> list[tuple[str, str]]:
    """Tell what must not follow, and how that is decided."""
    absence = plan.absence
    if absence is None:
        return []
    lines = [describe(absence.absent)]
    if plan.compiled is not None:
        lines.append(_WAITS + (_COMPARED if absence.outer else _EAGERLY))
    return [("must not follow", "\n".join(lines))]


_WAITS = (
    "What completes a match waits for its deadline, with the part of the match graph below it, and "
    "is listed when it is decided"
)
_EAGERLY = "; it is dropped as soon as it is followed in time."
_COMPARED = (
    ", and compared then with what followed in time, because conditions name events of the match."
)


def _conditions(compiled: Compiled, formula: Formula, *, chooses: bool) -> str:
    """Tell how each condition between events is decided."""
    ways = _ways(compiled, chooses=chooses)
    texts = dict.fromkeys(
        condition.text
        for each in subformulas(formula)
        if isinstance(each, Filter)
        for condition in each.conditions
        if not isinstance(condition, Each) or condition.text in ways
    )
    texts |= dict.fromkeys(each.text for each in subformulas(formula) if isinstance(each, Within))
    lines = [f"{text}:  {ways.get(text, _ONE_EVENT)}" for text in texts]
    if compiled.plan.registers:
        registers = count(compiled.plan.registers, "register")
        lines.append(f"{registers}; runs with equal contents are one configuration")
    following = {each.absent for each in compiled.plan.intervals if each.after}
    lines += [
        f"UNLESS {number + 1} is evaluated beside the pattern, and decided as matches are listed"
        + (_CORRELATED if absent.plan.correlated else "")
        for number, absent in enumerate(compiled.absent)
        if number not in following
    ]
    if compiled.hides:
        lines.append("several runs may be one match: duplicates are dropped on listing")
    return "\n".join(lines)


_AS_PARTITION = (
    "all events have one {0}, so PARTITION BY [{0}] would find the same; by the index an event "
    "meets no other {0} either"
)
_ONE_EVENT = "a predicate, because its variables are bound to one event"
_WINDOW = (
    "a register holds where the window began; an event visits the different beginnings that are "
    "still inside"
)
_CLIPPED = "on the match graph, which knows where runs began; the time per event does not follow it"
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


def _ways(compiled: Compiled, *, chooses: bool) -> dict[str, str]:
    """Return how the condition with a text is decided, and what that costs."""
    ways = costs(compiled, chooses=chooses)
    windows = {each.register for each in compiled.plan.windows}
    for instance in compiled.plan.instances:
        if instance.registers & windows:
            ways[instance.text] = _WINDOW
    ways |= {clip.text: _CLIPPED for clip in compiled.plan.clips}
    for deferred in compiled.plan.deferred:
        ways[deferred.condition.text] = _LISTING
    for interval in compiled.plan.intervals:
        absent = compiled.absent[interval.absent]
        outer = frozenset(name for name, _ in interval.outer)
        ways |= _ways(absent, chooses=False) | {
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
    states = _most_states(drawing)
    match plan.operator:
        case "count by listing":
            choice = None if plan.residual is None else plan.residual.choice
            return [listing_cost(why_listed(bound, compiled, plan.operators, choice))]
        case "count on the graph":
            return [ON_GRAPH if plan.choice is None else CHOSEN]
        case "count":
            return _counting_cost(bound, states)
    lines = [f"An event visits {states}, whatever the window and the number of partial matches."]
    if compiled.plan.registers:
        lines = [
            f"An event visits the configurations of {states}: those that an index "
            "finds, at most as many as there are different register contents in the window, "
            "however many partial matches share them."
        ]
    lines += _refusing_cost(plan)
    if bound.window is None:
        lines.append("Without WITHIN every start stays alive: memory grows with the stream.")
    else:
        lines.append("Memory is bounded by what starts within the window.")
    return lines


def _most_states(drawing: Drawing) -> str:
    """Tell how many states an event visits at most, beside the start."""
    if not drawing.complete:
        return "very many states"
    beside = drawing.states - 1
    return f"at most {count(beside, 'state')}" if beside else "the start alone"


def _refusing_cost(plan: PhysicalPlan) -> list[str]:
    """Tell what it costs to refuse matches that only listing can refuse."""
    residual = plan.residual
    if residual is None or not residual.refuses_unbounded:
        return []
    many = ""
    if residual.repeated:
        many = f", which may be exponentially many with the events that {residual.repeated} chooses"
    return [
        f"Matches are listed before {', '.join(residual.unbounded)} can refuse them{many}; where "
        f"one event completes more than {DEFAULT_LIMITS.matches:,}, listing stops with a "
        "BudgetError (the option max_matches raises that budget), and nothing else is lost."
    ]


def _key_cost(bound: BoundQuery) -> list[str]:
    if not bound.partition:
        return []
    return ["Every key has states of its own; keys without partial matches cost nothing."]


def _counting_cost(bound: BoundQuery, states: str) -> list[str]:
    """Tell what it costs to count without listing."""
    numbers = 1 + len(bound.totals.columns if bound.totals is not None else ())
    lines = [
        f"Matches are counted, not listed: an event adds up the runs of {states}, "
        f"{count(numbers, 'number')} each, however many matches there are."
    ]
    if bound.window is None:
        lines.append("Memory does not grow with the stream.")
    else:
        lines.append(
            "The window slides by a product of matrices on two stacks: an event enters and leaves "
            "once, so the time per event does not follow the window; memory does."
        )
    return lines


def indented(text: str) -> str:
    """Put two spaces before every line."""
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))
