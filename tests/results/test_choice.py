"""The choice among listed matches is that of the definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ensue.logic.complex_event import ComplexEvent
from ensue.logic.formula import Choice
from ensue.logic.reference import choose
from ensue.results.choice import choose_listed

_MATCHES = st.lists(
    st.builds(
        lambda start, support, name: ComplexEvent(start, 7, frozenset((name, i) for i in support)),
        st.integers(0, 3),
        st.frozensets(st.integers(0, 7)),
        st.sampled_from("xy"),
    ),
    max_size=12,
    unique=True,
)


@given(_MATCHES, st.sampled_from(("NEXT", "LAST", "MAX", "FIRST")))
def test_listed_choice_eq_reference(matches: list[ComplexEvent], choice: Choice) -> None:
    kept = choose_listed(matches, choice, set())
    assert set(kept) == choose(matches, choice)
    assert kept == [each for each in matches if each in kept]


def test_first_leaves_out_starts_that_have_completed_before() -> None:
    early, late = (ComplexEvent(start, 7, frozenset({("x", 7)})) for start in (1, 3))
    completed = {3}
    assert choose_listed([late, early], "FIRST", completed) == [early]
    assert completed == {1, 3}
