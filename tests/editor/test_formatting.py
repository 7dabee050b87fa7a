"""Formatting keeps the meaning and all comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.editor.document import Document
from ensue.editor.formatting import format_document
from ensue.errors import CeqlError
from ensue.language.parser import parse
from ensue.language.scan import COMMENT, SPACE, scan
from tests.editor.examples import queries, rule_texts


def comments(text: str) -> list[str]:
    return [token.text.strip() for token in scan(text) if token.kind == COMMENT]


def test_a_query_with_comments_everywhere() -> None:
    text = """-- top
select a, -- the first
  b /* second */ from S
-- the pattern
where (A as a ; -- then
   (B as b filter b[price > 10 and name in {'x','y'}])) -- done
  -- the filter
  filter a.price < b.price and a.volume > 100 and a.name = b.name and b.halted == false
partition by [name] -- key
within 5 minutes [ts] ;
-- end
"""
    wanted = """-- top
SELECT a, -- the first
    b /* second */
FROM S
-- the pattern
WHERE A AS a ; -- then
    (B AS b FILTER b[price > 10 AND name IN ('x', 'y')]) -- done
  -- the filter
  FILTER a.price < b.price AND a.volume > 100 AND a.name = b.name AND b.halted = FALSE
PARTITION BY [name] -- key
WITHIN 5 minutes [ts]
-- end
"""
    assert format_document(Document(text)) == wanted
    assert format_document(Document(wanted)) == wanted


def test_headers_and_line_ends_stay_as_they_are() -> None:
    header = "+++\r\ntitle   = 'x' # a comment\r\n+++\r\n"
    made = format_document(Document(f"{header}select * from S where A"))
    assert made == f"{header}SELECT *\r\nFROM S\r\nWHERE A\r\n"


def test_what_has_an_error_is_left_alone() -> None:
    with pytest.raises(CeqlError):
        format_document(Document("select * form S"))


def test_all_rules_of_the_examples_keep_their_meaning() -> None:
    formatted = 0
    for text in rule_texts():
        document = Document(text)
        try:
            before = parse(document.query)
        except CeqlError:
            continue
        made = Document(format_document(document))
        assert parse(made.query) == before
        assert comments(made.query) == comments(document.query)
        assert format_document(made) == made.text
        formatted += 1
    assert formatted > 20


QUERIES = queries()
NOTES = st.sampled_from(
    ["-- a note\n", "\n-- alone\n", "/* in */", "\n/* two\n lines */\n", "--\n"]
)


@given(st.data())
def test_comments_anywhere_are_kept(data: st.DataObject) -> None:
    query = data.draw(st.sampled_from(QUERIES))
    parts = []
    for token in scan(query):
        parts.append(token.text)
        if token.kind == SPACE and data.draw(st.integers(0, 5)) == 0:
            parts += [data.draw(NOTES), " "]
    text = "".join(parts)
    made = format_document(Document(text))
    assert parse(made) == parse(query)
    assert comments(made) == comments(text)
    assert format_document(Document(made)) == made
