"""What the words and signs of CEQL mean, in a sentence each: for hover and completion.

Tests compare the keys with the grammar, the functions and the aggregates of the language.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """How something is written, and what it means."""

    form: str
    meaning: str


KEYWORDS: dict[str, Entry] = {
    "SELECT": Entry("SELECT [strategy] list", "What a match shows: `*`, NONE, or variables."),
    "FROM": Entry("FROM S, T", "The streams that the query reads."),
    "WHERE": Entry("WHERE pattern", "The pattern that events have to satisfy."),
    "FILTER": Entry(
        "p FILTER condition",
        "Keeps the matches of p for which the condition holds: `x[price > 10]` for each event of "
        "x, `a.price < b.price` between events.",
    ),
    "AGGREGATE": Entry(
        "p AGGREGATE Y[n = fn(x.a), …]",
        "Adds a computed event Y to each match of p, with the attributes n, ….",
    ),
    "PROJECT": Entry("p PROJECT [x, y]", "Forgets all variables but these."),
    "PARTITION": Entry(
        "PARTITION BY [a]",
        "At the end of a query: one stream for each value of the attribute. Inside a pattern, "
        "`PARTITION BY [x.a, y.b]`: all events named have the same value.",
    ),
    "BY": Entry("PARTITION BY, CONSUME BY", "Belongs to the word before it."),
    "UNLESS": Entry(
        "p UNLESS q", "Matches of p with no match of q inside, from their first to last event."
    ),
    "NOT_FOLLOWED_BY": Entry(
        "p NOT FOLLOWED BY q WITHIN w",
        "Matches of p after which no q comes in time. They are reported when their deadline has "
        "passed.",
    ),
    "OR": Entry("p OR q", "One or the other: of patterns, or of conditions."),
    "AND": Entry(
        "p AND q",
        "Between conditions: both hold. Between patterns: the same events satisfy both.",
    ),
    "ALL": Entry(
        "p ALL q", "Both, in any order, also interleaved. After SELECT: every match, the default."
    ),
    "AS": Entry("p AS x", "Names the events of p, or a computed column."),
    "ANY": Entry("ANY", "An event of any type. CONSUME BY ANY: a match ends all others."),
    "NOT": Entry(
        "NOT(R)",
        "One event that is not such an event. In conditions: the opposite. For 'does not happen "
        "in between' write UNLESS.",
    ),
    "NONE": Entry("SELECT NONE", "Shows start and end of matches only. CONSUME BY NONE: nothing."),
    "NULL": Entry("NULL", "No value. Comparisons with it are neither true nor false."),
    "IN": Entry(
        "x IN (1, 2)",
        "One of the values of a list, of a parameter `$list`, or of an attribute that is a list; "
        "`IN RANGE (low, high)` is BETWEEN.",
    ),
    "BETWEEN": Entry("x BETWEEN a AND b", "At least a and at most b."),
    "LIKE": Entry("s LIKE 'M%'", "A pattern of the whole string: `%` any text, `_` a character."),
    "RLIKE": Entry("s RLIKE 'M.+'", "A regular expression (RE2) that is found in the string."),
    "IS": Entry("x IS NULL", "Whether there is a value: IS NULL, IS NOT NULL."),
    "WITHIN": Entry(
        "WITHIN 5 MINUTES [ts]",
        "The window: from the first to the last event of a match at most this long. `n EVENTS` "
        "counts events, `n [a]` units of an attribute.",
    ),
    "CONSUME": Entry(
        "CONSUME BY ANY",
        "After a match all partial matches are dropped: of all partitions (ANY), of its own "
        "(PARTITION), or none (NONE, the default).",
    ),
    "LIMIT": Entry("LIMIT n", "At most n matches for each completing event."),
    "EVERY": Entry("EVERY 1 MINUTE", "With SELECT count(*): one row for each interval of time."),
    "TRUE": Entry("TRUE", "The value true."),
    "FALSE": Entry("FALSE", "The value false."),
    "CASE": Entry(
        "CASE WHEN p THEN a ELSE b END",
        "The value behind the first condition that is true; without ELSE, NULL where none is.",
    ),
    "WHEN": Entry("CASE WHEN p THEN a END", "A condition of CASE."),
    "THEN": Entry("CASE WHEN p THEN a END", "The value if the condition before it is true."),
    "ELSE": Entry("CASE WHEN p THEN a ELSE b END", "The value if no condition is true."),
    "END": Entry("CASE WHEN p THEN a END", "The end of CASE."),
    "DISTINCT": Entry("count(DISTINCT x.a)", "Counts different values."),
}
"""By the kind of their token."""

DECLARATIONS: dict[str, Entry] = {
    "CREATE": Entry(
        "CREATE STREAM S { EVENT R { a: double }, … } ;",
        "Declares the events of a stream, or, as `CREATE STREAM D AS SELECT … ;`, makes a stream "
        "of the matches of a query.",
    ),
    "STREAM": Entry("CREATE STREAM S { … } ;", "A stream and its events."),
    "EVENT": Entry("EVENT R { a: double, b: string }", "An event type and its attributes."),
    "RANGE": Entry("x IN RANGE (low, high)", "The same as BETWEEN: both ends are in."),
    "TIMESTAMP": Entry("TIMESTAMP '2026-01-31 09:30:00'", "An instant; without a zone, in UTC."),
    "DATE": Entry("DATE '2026-01-31'", "A date."),
}
"""Words that are keywords where they stand, and names elsewhere."""

STRATEGIES: dict[str, Entry] = {
    "ALL": Entry("SELECT ALL", "Every match; the default."),
    "NEXT": Entry(
        "SELECT NEXT", "Of the matches of one completing event the one with the earliest events."
    ),
    "LAST": Entry(
        "SELECT LAST", "Of the matches of one completing event the one with the latest events."
    ),
    "MAX": Entry(
        "SELECT MAX", "Of the matches of one completing event those that are part of no larger one."
    ),
    "STRICT": Entry("SELECT STRICT", "The matches whose events have no gap."),
    "FIRST": Entry(
        "SELECT FIRST", "One for each start: what ends first, and of this what NEXT prefers."
    ),
}

PATTERN_FUNCTIONS: dict[str, Entry] = {
    "START": Entry("START(p)", "The match begins at the first event of the stream."),
    "STRICT": Entry("STRICT(p)", "The matches of p whose events have no gap."),
    "NEXT": Entry("NEXT(p)", "Of matches with the same start and end the one with earlier events."),
    "LAST": Entry("LAST(p)", "Of matches with the same start and end the one with later events."),
    "MAX": Entry("MAX(p)", "Of matches with the same start and end those in no larger one."),
}

UNITS: dict[str, Entry] = {
    "EVENTS": Entry("WITHIN 100 EVENTS", "A number of events of the stream, or of the partition."),
    **{
        f"{name}S": Entry(f"5 {name}S", f"A length of time in {name.lower()}s.")
        for name in "DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND".split()
    },
}

SIGNS: dict[str, Entry] = {
    ";": Entry("p ; q", "p and later q, with anything in between. Also ends a statement."),
    ":": Entry("p : q", "p and directly after it q. In CREATE STREAM: the type of an attribute."),
    "+": Entry("p+", "p once or more, with anything in between. Of numbers: the sum."),
    "*": Entry("p*", "p any number of times, or not. After SELECT: everything. Else: times."),
    "?": Entry("p?", "p or nothing."),
    "{": Entry("p{2,4}", "p two to four times, with anything in between; `{3}`, `{2,}`."),
    ":+": Entry("p:+", "p once or more, without a gap."),
    ":*": Entry("p:*", "p any number of times without a gap, or not."),
    ":{": Entry("p:{2,4}", "p two to four times, without a gap."),
    ">": Entry("S>R", "The event type R of stream S. Of values: greater than."),
    "<": Entry("a < b", "Less than."),
    "<=": Entry("a <= b", "At most."),
    ">=": Entry("a >= b", "At least."),
    "=": Entry("a = b", "Equal."),
    "==": Entry("a == b", "Equal; the same as `=`."),
    "!=": Entry("a != b", "Not equal."),
    "<>": Entry("a <> b", "Not equal; the same as `!=`."),
    "-": Entry("a - b", "The difference; of two times, a duration."),
    "/": Entry("a / b", "The quotient, a double; NULL where b is 0."),
    "%": Entry("a % b", "The remainder, with the sign of a; NULL where b is 0."),
    "[": Entry("x[price > 10]", "A condition on each event of x; its attributes stand alone."),
}

FUNCTIONS: dict[str, Entry] = {
    "abs": Entry("abs(n)", "The absolute value of a number or a duration."),
    "sign": Entry("sign(n)", "-1, 0 or 1."),
    "round": Entry("round(n)", "To the nearest whole number; half goes away from zero."),
    "floor": Entry("floor(n)", "The largest whole number that is not above n."),
    "ceil": Entry("ceil(n)", "The smallest whole number that is not below n."),
    "sqrt": Entry("sqrt(n)", "The square root; NULL below 0."),
    "ln": Entry("ln(n)", "The natural logarithm; NULL unless n is above 0."),
    "exp": Entry("exp(n)", "e to the power of n."),
    "power": Entry("power(n, m)", "n to the power of m; NULL where that is no real number."),
    "geo_distance": Entry(
        "geo_distance(lat1, lon1, lat2, lon2)", "Metres between two places given in degrees."
    ),
    "lower": Entry("lower(s)", "In small letters."),
    "upper": Entry("upper(s)", "In capital letters."),
    "trim": Entry("trim(s)", "Without the spaces at both ends."),
    "length": Entry("length(s)", "The number of characters, or of elements of a list."),
    "substring": Entry(
        "substring(s, start[, n])",
        "From a position, counted from 1, or from the end if it is negative; n characters at most.",
    ),
    "replace": Entry("replace(s, old, new)", "Every occurrence of old replaced."),
    "concat": Entry("concat(s, t, …)", "One after the other."),
    "split_part": Entry(
        "split_part(s, delimiter, n)", "The n-th part, counted from the end if n is negative."
    ),
    "regexp_extract": Entry(
        "regexp_extract(s, regex[, n])", "What group n of an RE2 expression finds; 0 is the whole."
    ),
    "starts_with": Entry("starts_with(s, t)", "Whether s begins with t."),
    "ends_with": Entry("ends_with(s, t)", "Whether s ends with t."),
    "contains": Entry("contains(s, t)", "Whether s contains t; or a list, an element."),
    "cidr_match": Entry(
        "cidr_match(address, network)", "Whether an address lies in a network: `'10.0.0.0/8'`."
    ),
    **{
        name: Entry(f"{name}(t)", f"The {name} of a timestamp or date, in UTC.")
        for name in ("hour", "minute", "day", "month", "year")
    },
    "day_of_week": Entry("day_of_week(t)", "From 1, Monday, to 7."),
    "date_diff": Entry("date_diff(unit, from, to)", "The whole units from one time to the other."),
    "coalesce": Entry("coalesce(a, b, …)", "The first that is not NULL."),
    "greatest": Entry("greatest(a, b, …)", "The greatest of those that are not NULL."),
    "least": Entry("least(a, b, …)", "The least of those that are not NULL."),
}

TRENDS: dict[str, Entry] = {
    "same": Entry("x[same(a)]", "All events of x have the same a."),
    "increasing": Entry("x[increasing(a)]", "a grows from each event of x to the next."),
    "decreasing": Entry("x[decreasing(a)]", "a falls from each event of x to the next."),
    "nondecreasing": Entry("x[nondecreasing(a)]", "a never falls from one event of x to the next."),
    "nonincreasing": Entry("x[nonincreasing(a)]", "a never grows from one event of x to the next."),
}

AGGREGATES: dict[str, Entry] = {
    "sum": Entry("sum(x.a)", "The sum; 0 of nothing."),
    "count": Entry(
        "count(x)",
        "The number of events; count(x.a): of values that are not NULL; count(DISTINCT x.a): of "
        "different ones; count(*): of all matches, which are not listed.",
    ),
    "min": Entry("min(x.a)", "The smallest value."),
    "max": Entry("max(x.a)", "The largest value."),
    "avg": Entry("avg(x.a)", "The average."),
    "range": Entry("range(x.a)", "max less min."),
    "first": Entry("first(x.a)", "The value at the first position that has one."),
    "last": Entry("last(x.a)", "The value at the last position that has one."),
    "stddev": Entry("stddev(x.a)", "The sample's standard deviation; NULL of one value."),
    "product": Entry("product(x.a)", "The product."),
    "median": Entry("median(x.a)", "The value below which half of the values lie."),
    "percentile": Entry("percentile(x.a, 0.95)", "The value below which a share of them lies."),
    "list": Entry("list(x.a)", "The values in the order of positions."),
}

TYPES: dict[str, Entry] = {
    "boolean": Entry("boolean", "true or false"),
    "int": Entry("int", "whole numbers of 64 bits"),
    "double": Entry("double", "numbers"),
    "decimal": Entry("decimal", "decimal numbers, computed as doubles, compared exactly"),
    "string": Entry("string", "texts"),
    "timestamp": Entry("timestamp", "instants"),
    "date": Entry("date", "days"),
    "`list<string>`": Entry("`list<string>`", "lists of strings; also of int, double, boolean"),
}


def meaning_of_call(name: str) -> list[Entry]:
    """Return what a name before a parenthesis may mean: a function, an aggregate, a strategy."""
    lower, upper = name.lower(), name.upper()
    tables = (FUNCTIONS.get(lower), AGGREGATES.get(lower), TRENDS.get(lower))
    return [each for each in (PATTERN_FUNCTIONS.get(upper), *tables) if each is not None]
