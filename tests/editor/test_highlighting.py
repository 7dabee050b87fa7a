"""The TextMate grammar and the Pygments lexer say of every query what the language's lexer says."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import EntryPoint

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.token import Comment, Error, Keyword, Name

from ensue.editor.classes import OPERATORS, PUNCTUATION, classes
from ensue.editor.generate import ROOT, generated
from ensue.editor.pygments_lexer import TOKENS, CeqlLexer
from ensue.editor.textmate import SCOPES, grammar
from ensue.language.automaton import tables
from ensue.language.contextual import STRATEGY, WORDS
from ensue.language.scan import scan
from ensue.language.tokens import NOT_FOLLOWED_BY, RESERVED, STATEMENT_END
from tests.editor.examples import queries, rule_texts
from tests.editor.textmate_reader import Reader

ODD = [
    "SELECT a FROM S WHERE `a b` AS `x``y` ; B:{2,} : C:+ FILTER B[t > TIMESTAMP '2026-01-01']",
    "select next * from S where not(A) : B not  followed by C within 1.5 minutes [ts]",
    "SELECT count(DISTINCT x.a) AS n FROM S WHERE A AS x FILTER x[a IN RANGE (1, .5e3)]",
    "CREATE STREAM S { EVENT A { event: int, b.c: `list<string>` } } ; SELECT * FROM S WHERE A",
    "SELECT CASE WHEN a.v > 1 THEN 'x' ELSE CASE WHEN TRUE THEN 1 END END AS c FROM S WHERE A AS a",
    "SELECT * /* two\nlines */ FROM S -- rest\nWHERE A AS end FILTER end[v = 'it''s\ntwo lines']",
    "SELECT max, first FROM S WHERE MAX(A) AS max ; B AS first FILTER max[limit_1 < $low_2]",
    "SELECT STRICT * FROM S WHERE A AS strict FILTER strict[same(v) AND 5 IN tags]",
]


def scopes_of(text: str) -> list[str | None]:
    """Return the scope of each character, from the language's own lexer."""
    found: list[str | None] = []
    for token, kind in classes(text):
        found += [None if kind == "space" else SCOPES[kind]] * len(token.text)
    return found


def shown(text: str, scopes: list[str | None]) -> list[str]:
    """Return the scopes of all characters that are not white space."""
    return [f"{c} {s}" for c, s in zip(text, scopes, strict=True) if not c.isspace()]


def read(text: str) -> list[str | None]:
    """Return the scope of each character, from the grammar of editors."""
    found = Reader(grammar()).read(text)
    return [SCOPES["string"] if scope and "escape" in scope else scope for scope in found]


def test_grammar_eq_lexer_on_all_queries() -> None:
    assert len(queries()) > 500
    for text in (*ODD, *queries()[::3]):
        assert shown(text, read(text)) == shown(text, scopes_of(text)), text


def test_all_tokens_of_the_grammar_have_a_class() -> None:
    kinds = {kind for row in tables().states for kind in row}
    terminals = {kind for kind in kinds if kind.isupper() or not kind.isidentifier()}
    special = {"NAME", "INTEGER", "DECIMAL", "STRING", "PARAMETER", "$END", STATEMENT_END}
    known = {*RESERVED, *WORDS, STRATEGY, NOT_FOLLOWED_BY, *OPERATORS, *PUNCTUATION, *special}
    assert terminals == known


def test_generated_files_are_up_to_date() -> None:
    for path, text in generated().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"run: python -m ensue.editor.generate {path}"
        )


def test_scopes_are_those_that_colour_themes_know() -> None:
    written = json.loads((ROOT / "editors/vscode/syntaxes/ceql.tmLanguage.json").read_text())
    assert written["scopeName"] == "source.ceql"
    assert set(SCOPES) == set(TOKENS) - {"space"}


def test_pygments_reads_everything() -> None:
    lexer = CeqlLexer(ensurenl=False, stripnl=False)
    for text in (*rule_texts(), *queries(), *ODD):
        tokens = list(lexer.get_tokens(text))
        assert "".join(part for _, part in tokens) == text.replace("\r\n", "\n")
    for text in queries():
        assert all(kind is not Error for kind, _ in lexer.get_tokens(text)), text


def test_pygments_tells_words_apart() -> None:
    text = "+++\ntime = 'at'\n+++\nSELECT max(a.v) AS top FROM S WHERE A AS a -- x\n"
    found = {part: kind for kind, part in CeqlLexer().get_tokens(text)}
    assert found["SELECT"] is Keyword
    assert found["max"] is Name.Function
    assert found["-- x"] is Comment
    assert found["+++\n"] is Comment.Preproc
    assert '<span class="k">SELECT</span>' in highlight(text, CeqlLexer(), HtmlFormatter())


def test_the_lexer_is_registered() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    value = project["entry-points"]["pygments.lexers"]["ceql"]
    assert EntryPoint("ceql", value, "pygments.lexers").load() is CeqlLexer
    assert CeqlLexer.aliases == ["ceql"]


@pytest.mark.parametrize(
    "text",
    ["FROM S 'open", "A /* open", "A `open\nB", "a != ! b", "1e999 99999999999999999999", "$"],
)
def test_a_text_with_mistakes_is_scanned_whole(text: str) -> None:
    assert "".join(token.text for token in scan(text)) == text
    assert "".join(part for _, part in CeqlLexer(ensurenl=False).get_tokens(text)) == text
