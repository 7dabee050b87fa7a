"""Analysis of patterns: names, filters, aggregates, repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from ensue.analysis.binding import Binder
from ensue.analysis.bound import Computation
from ensue.analysis.columns import AggregateTerms
from ensue.analysis.conditions import Condition, SameKey, bind_condition
from ensue.analysis.context import Context, listing, nearest
from ensue.analysis.scopes import Scope, named_in, where_bound
from ensue.analysis.types import Type, joined
from ensue.analysis.variables import Variable, Variables
from ensue.errors import Fix, Span
from ensue.language import tree

FUNCTIONS = ("START", "STRICT", "NEXT", "LAST", "MAX")


@dataclass(slots=True)
class PatternBinder:
    """Walks a pattern, binds its filters and aggregates, and reports errors."""

    context: Context
    sources: frozenset[str]
    variables: Variables = field(default_factory=Variables)
    conditions: dict[Span, Condition] = field(default_factory=dict)
    aggregates: dict[Span, Computation] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    """The variables of patterns left of an UNLESS, while its right side is bound."""
    whole: tree.Pattern | None = None
    """The pattern of the query."""
    following: tree.Pattern | None = None
    """What must not follow it."""
    _column_types: dict[tuple[str, str], Type] = field(default_factory=dict)
    """The types of computed columns, by variable and name."""

    def bind(self, pattern: tree.Pattern, *, optional: bool = False) -> None:
        """Check a pattern; `optional`: it may be empty, since the sequence around it cannot be."""
        self.whole = self.whole or pattern
        match pattern:
            case tree.Event():
                self._event(pattern)
            case tree.Absent(pattern=inner):
                self._absent(inner)
            case tree.Named(pattern=inner):
                self.bind(inner, optional=optional)
                self._named(pattern)
            case tree.Repeated(pattern=inner, low=low):
                if low == 0 and not optional:
                    self._report_empty(pattern.span)
                self.bind(inner, optional=optional or low == 0)
            case tree.Sequence(items=items):
                if not optional and all(map(may_be_empty, items)):
                    self._report_empty(pattern.span)
                for item in items:
                    self.bind(item, optional=True)
            case tree.Combined(operator=operator, items=items):
                passes_on = operator == "OR" or (operator == "AND" and optional)
                for item in items:
                    if passes_on:
                        self.bind(item, optional=optional)
                    else:
                        self._bind_present(item, operator)
            case tree.Unless(pattern=inner, absent=absent):
                self._bind_present(inner, "UNLESS")
                self._bind_absent(inner, absent)
            case tree.Filtered(pattern=inner, condition=condition):
                self.bind(inner, optional=optional)
                self._filtered(inner, condition)
            case tree.Aggregated():
                self._bind_present(pattern.pattern, "AGGREGATE")
                self._aggregated(pattern)
            case tree.Projected(pattern=inner, variables=words):
                self.bind(inner, optional=optional)
                self.check_variables(words, self.variables.of(inner))
            case tree.Partitioned():
                self.bind(pattern.pattern, optional=optional)
                self._partitioned(pattern)
            case tree.Applied(function=word, pattern=inner):
                self._function(word)
                self._bind_present(inner, f"{word.text.upper()}( )")
            case tree.Within(pattern=inner):
                self.bind(inner, optional=optional)

    def _bind_present(
        self,
        pattern: tree.Pattern,
        operator: str,
        hint: str = "in a sequence the whole may be absent instead: (…)? around the operator",
    ) -> None:
        """Check an operand that must not match the empty sequence."""
        if may_be_empty(pattern):
            if operator == "ALL":
                hint = "write out the choice: A OR (A ALL B)"
            message = f"this may be empty, and {operator} is about events that are there"
            self.context.report("E431", pattern.span, message, hint)
        self.bind(pattern, optional=True)

    def _bind_absent(self, left: tree.Pattern, absent: tree.Pattern) -> None:
        """Check the right side of UNLESS: its conditions may name the variables of the left."""
        self._bind_right(left, absent, "UNLESS")

    def bind_following(self, left: tree.Pattern, absent: tree.Pattern) -> None:
        """Check the right side of NOT FOLLOWED BY."""
        self._bind_right(left, absent, "NOT FOLLOWED BY")

    def _bind_right(self, left: tree.Pattern, absent: tree.Pattern, operator: str) -> None:
        around = self.scope
        self.scope = around.right_of(left, absent, self.variables, operator)
        self._bind_present(absent, operator, "what must not happen is there: + instead of *")
        self.scope = around

    def _filtered(self, pattern: tree.Pattern, condition: tree.Expression) -> None:
        own = self.variables.of(pattern)
        for word in named_in(condition):
            if word.text in self.scope.iterated and word.text not in own:
                self.context.report(
                    "E432",
                    word.span,
                    f"'{word.text}' may have several events, and here one is meant",
                    f"right of {self.scope.operator} a condition names variables of the left that "
                    "cannot be iterated: name a single event there, as in "
                    "(A AS first ; A+ AS rest)",
                )
        self.conditions[condition.span] = bind_condition(
            condition,
            self._binder({**self.scope.visible, **own}, pattern),
            cache(lambda name: name in own and self.variables.may_repeat(pattern, name)),
        )

    def _binder(self, known: Mapping[str, Variable], pattern: tree.Pattern | None = None) -> Binder:
        """Return a binder with hints for variables that are bound elsewhere."""
        whole, scope, following = self.whole, self.scope, self.following
        return Binder(
            self.context,
            known,
            elsewhere=lambda name: where_bound(name, pattern, scope, whole, following),
        )

    def check_variables(self, words: Iterable[tree.Word], known: dict[str, Variable]) -> None:
        """Report listed variables that the pattern does not bind."""
        binder = Binder(self.context, known)
        for word in words:
            if word.text not in known:
                binder.report_variable(word)

    def _event(self, event: tree.Event) -> None:
        events = self.context.schema.events
        if event.stream is not None and event.stream.text not in self.sources:
            self.context.report_name(
                "E210",
                event.stream.span,
                f"'{event.stream.text}' is not among the streams of FROM",
                event.stream.text,
                self.sources,
                f"FROM has {listing(sorted(self.sources))}; to compare attributes write FILTER "
                "x[a > b] behind the pattern",
            )
        if event.type is not None and events is not None and event.type.text not in events:
            self.context.report_name(
                "E211",
                event.type.span,
                f"unknown event type '{event.type.text}'",
                event.type.text,
                events,
                f"the declared types are {listing(events)}",
            )

    def _absent(self, inner: tree.Pattern) -> None:
        self.bind(inner)
        wrong = not_one_event(inner)
        if wrong is not None:
            self.context.report(
                "E414",
                wrong.span,
                "NOT( ) is about one event: a type, perhaps with a filter",
                "for 'no such thing in between' write φ UNLESS ψ",
            )

    def _named(self, pattern: tree.Named) -> None:
        if not self.variables.atoms(pattern.pattern):
            self.context.report(
                "E415",
                pattern.pattern.span,
                f"this binds no event, so '{pattern.variable.text}' would name nothing",
                "NOT(…) and what PROJECT leaves out bind nothing",
            )

    def _report_empty(self, span: Span) -> None:
        self.context.report(
            "E416",
            span,
            "this may be empty, so there would be a match without any event",
            "?, * and {0,m} stand inside a sequence with something that is always there",
        )

    def _function(self, word: tree.Word) -> None:
        if word.text.upper() in FUNCTIONS:
            return
        near = nearest(word.text, FUNCTIONS)
        fix = None if near is None else Fix(word.span, near)
        hint = "of patterns there are START, STRICT, NEXT, LAST, MAX and NOT"
        self.context.report(
            "E212",
            word.span,
            f"'{word.text}' is not a function of patterns",
            hint if near is None else f"did you mean '{near}'?",
            fix,
        )

    def _partitioned(self, pattern: tree.Partitioned) -> None:
        known = self.variables.of(pattern.pattern)
        keys: list[tuple[str, tuple[str, ...]]] = []
        for path in pattern.keys:
            variable = known.get(path.names[0])
            if variable is None:
                self._binder(known).report_variable(path.parts[0])
                continue
            place = Span(path.parts[1].span.start, path.span.end)
            Binder(self.context, known).single_value(path.names[1:], variable, place)
            keys.append((path.names[0], path.names[1:]))
        listed = {name for name, _ in keys}
        missing = [
            atom for atom in self.variables.atoms(pattern.pattern) if not atom.variables & listed
        ]
        if missing and len(keys) == len(pattern.keys):
            name = missing[0].type or "ANY"
            self.context.report(
                "E417",
                _whole(pattern.keys),
                f"the events of '{name}' have no key here",
                "PARTITION BY inside a pattern lists an attribute for every event of it",
            )
        text = ", ".join(f"{name}.{'.'.join(path)}" for name, path in keys)
        self.conditions[_whole(pattern.keys)] = SameKey(tuple(keys), f"PARTITION BY [{text}]")

    def _aggregated(self, pattern: tree.Aggregated) -> None:
        known = self.variables.of(pattern.pattern)
        word = pattern.variable
        if word.text in known and known[word.text].computed is None:
            self.context.report(
                "E418",
                word.span,
                f"'{word.text}' is already bound to events of the stream",
                "give the computed event a name of its own",
            )
        names = [column.name.text for column in pattern.columns]
        for column in pattern.columns:
            if names.count(column.name.text) > 1:
                self.context.report(
                    "E419", column.name.span, f"the column '{column.name.text}' is computed twice"
                )
                break
        terms = AggregateTerms(self._binder(known), self.repeats(pattern.pattern))
        types = {column.name.text: terms.column(column) for column in pattern.columns}
        for column in pattern.columns:
            self._check_type(word.text, column.name, types[column.name.text])
        self.variables.columns[word.span] = types
        self.aggregates[word.span] = terms.computation

    def _check_type(self, variable: str, name: tree.Word, kind: Type) -> None:
        """Report a column whose values do not go with those of another AGGREGATE."""
        before = self._column_types.setdefault((variable, name.text), kind)
        both = joined(before, kind)
        if both is None:
            self.context.report(
                "E318",
                name.span,
                f"'{variable}.{name.text}' is {kind.article} here and {before.article} in another "
                "AGGREGATE",
                "one attribute is one column: give the two different names",
            )
        else:
            self._column_types[variable, name.text] = both

    def repeats(self, pattern: tree.Pattern) -> Callable[[str], bool]:
        """Return what tells whether a match may have several events of a variable."""
        return cache(lambda name: self.variables.may_repeat(pattern, name))

    def binder(self, pattern: tree.Pattern) -> Binder:
        """Return a binder for what is computed over a pattern."""
        return self._binder(self.variables.of(pattern))


def _whole(paths: tuple[tree.Path, ...]) -> Span:
    return paths[0].span.to(paths[-1].span)


def may_be_empty(pattern: tree.Pattern) -> bool:
    """Return whether a pattern matches the empty sequence, the unit of `;` and `:`."""
    match pattern:
        case tree.Repeated(pattern=inner, low=low):
            return low == 0 or may_be_empty(inner)
        case tree.Sequence(items=items) | tree.Combined(operator="AND", items=items):
            return all(map(may_be_empty, items))
        case tree.Combined(operator="OR", items=items):
            return any(map(may_be_empty, items))
        case (
            tree.Named(pattern=inner)
            | tree.Filtered(pattern=inner)
            | tree.Projected(pattern=inner)
            | tree.Partitioned(pattern=inner)
            | tree.Within(pattern=inner)
        ):
            return may_be_empty(inner)
        case _:
            return False


def not_one_event(pattern: tree.Pattern) -> tree.Pattern | None:
    """Return the part of a pattern that is not about one event, or None."""
    match pattern:
        case tree.Event():
            return None
        case tree.Filtered(pattern=inner) | tree.Named(pattern=inner):
            return not_one_event(inner)
        case tree.Combined(operator="OR" | "AND", items=items):
            return next((part for part in map(not_one_event, items) if part is not None), None)
        case _:
            return pattern


partition_place = _whole
"""The span under which the condition of an inner PARTITION BY is stored."""
