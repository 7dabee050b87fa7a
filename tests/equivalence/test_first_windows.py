"""Windows that begin with the match, which the match graph decides, against the definition."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

import ensue
from ensue.language import tree
from ensue.language.printer import format_query
from tests.conditions import bound_names, word
from tests.equivalence.test_engine import compiled, found, run
from tests.equivalence.test_sessions import cut, everything, table
from tests.pairs import Pair, streams_for
from tests.strategies import INNER_WINDOWS, Language, patterns
from tests.wide import meaning_of

PLAIN = Language(full=False)


@st.composite
def first_windows(draw: st.DrawFn) -> Pair:
    """A query whose pattern begins with a window, in which one more may be, and a stream."""
    window = draw(st.sampled_from(INNER_WINDOWS))
    pattern = draw(patterns(PLAIN, 2))
    if draw(st.booleans()):
        inner = tree.Within(pattern, draw(st.sampled_from(INNER_WINDOWS)))
        pattern = tree.Sequence((inner, draw(patterns(PLAIN, 1))), draw(st.booleans()))
    pattern = tree.Within(pattern, window)
    rest = (draw(patterns(PLAIN, 1)), tree.Event(word("C")))
    items = (pattern, *rest[: draw(st.integers(1, 2))])
    whole: tree.Pattern = tree.Sequence(items, contiguous=draw(st.integers(0, 3)) == 3)
    if draw(st.integers(0, 3)) == 3:
        whole = tree.Combined("OR", (whole, tree.Event(word("B"))))
    if draw(st.integers(0, 3)) == 3:
        whole = tree.Projected(whole, (word(draw(st.sampled_from(bound_names(whole)))),))
    query = tree.Query(
        (),
        tree.Selection(None, True, (), ()),
        (word("S"),),
        whole,
        draw(st.sampled_from(((), (word("k"),)))),
        tree.Window(draw(st.sampled_from((6, 9))), None, window.attribute),
        draw(st.sampled_from((None, None, "ANY", "PARTITION"))),
    )
    formula = meaning_of(query)
    if formula is None:
        return Pair(query, [])
    return Pair(query, draw(streams_for(formula, 8, [each.text for each in query.partition])))


def is_clipped(query: ensue.Query) -> bool:
    plan = query.plan.compiled
    return plan is not None and bool(plan.plan.clips)


@given(first_windows(), st.booleans(), st.booleans())
def test_windows_that_begin_the_match_eq_reference(
    pair: Pair, positions_only: bool, compact_always: bool
) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    expected = run(ready, rows, positions_only=positions_only, by_definition=True)
    event(f"clipped: {is_clipped(ready)}, matches: {expected.count > 0}")
    fast = run(ready, rows, positions_only=positions_only, compact_always=compact_always)
    assert found(fast) == found(expected)
    assert fast.count == expected.count


@given(first_windows(), st.data())
def test_windows_that_begin_the_match_bit_by_bit_eq_whole(pair: Pair, data: st.DataObject) -> None:
    ready, rows = compiled(pair.query), pair.rows
    if ready is None or not rows:
        return
    session, pieces = ready.open(), []
    for piece in cut(data, rows):
        pieces.append(session.push(table(piece)))
        session = ensue.compile(format_query(pair.query)).resume(session.snapshot())
    pieces.append(session.finish())
    assert everything(pieces) == everything([ready.run(table(rows))])
