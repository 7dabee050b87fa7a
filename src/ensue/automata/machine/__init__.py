"""The machines of all operators; see protocol.py."""

from ensue.automata.machine.combinations import (
    BEFORE,
    DONE,
    Agreement,
    Choice,
    Together,
    Without,
    side_moves,
)
from ensue.automata.machine.labels import (
    Adjoined,
    Bounded,
    Copied,
    Filtered,
    Marked,
    Named,
    Projected,
    Support,
)
from ensue.automata.machine.protocol import Holds, Machine, Move, Moves, State
from ensue.automata.machine.selections import (
    COMPARE,
    FromStart,
    Unbeaten,
    WithoutGap,
    compare_last,
    compare_max,
    compare_next,
)
from ensue.automata.machine.sequences import Chain, EmptyWord, NotOne, One, Repeated

__all__ = [
    "BEFORE",
    "COMPARE",
    "DONE",
    "Adjoined",
    "Agreement",
    "Bounded",
    "Chain",
    "Choice",
    "Copied",
    "EmptyWord",
    "Filtered",
    "FromStart",
    "Holds",
    "Machine",
    "Marked",
    "Move",
    "Moves",
    "Named",
    "NotOne",
    "One",
    "Projected",
    "Repeated",
    "State",
    "Support",
    "Together",
    "Unbeaten",
    "Without",
    "WithoutGap",
    "compare_last",
    "compare_max",
    "compare_next",
    "side_moves",
]
