"""The TextMate grammar of CEQL, made from the shapes of tokens and the words of the language.

`python -m ensue.editor.generate` writes it to editors/vscode, and a test keeps that file equal.
Another test reads example queries with it and compares with `classes`.
"""

from __future__ import annotations

import re
from typing import Any

from ensue.editor.classes import CONSTANTS, OPERATORS, PUNCTUATION, Class
from ensue.language.build_query import STRATEGIES
from ensue.language.contextual import WORDS
from ensue.language.tokens import RESERVED, SHAPES

SCOPES: dict[Class, str] = {
    "comment": "comment.ceql",
    "string": "string.quoted.ceql",
    "number": "constant.numeric.ceql",
    "parameter": "variable.parameter.ceql",
    "keyword": "keyword.control.ceql",
    "constant": "constant.language.ceql",
    "operator": "keyword.operator.ceql",
    "function": "support.function.ceql",
    "unit": "keyword.other.unit.ceql",
    "type": "support.type.ceql",
    "name": "variable.other.ceql",
    "punctuation": "punctuation.ceql",
    "error": "invalid.illegal.ceql",
}
"""The scope of each class; spaces have none."""

Rule = dict[str, Any]

_WORD = SHAPES["word"]
_NUMBER = f"{SHAPES['DECIMAL']}|{SHAPES['INTEGER']}"


def _match(pattern: str, kind: Class) -> Rule:
    return {"match": pattern, "name": SCOPES[kind]}


def _captured(pattern: str, *kinds: Class) -> Rule:
    """A rule whose groups are of these classes."""
    captures = {str(number): {"name": SCOPES[kind]} for number, kind in enumerate(kinds, 1)}
    return {"match": pattern, "captures": captures}


def _words(words: Any) -> str:
    return "|".join(sorted(words))


def _quoted(quote: str) -> Rule:
    """A string, which may go over several lines; the quote itself is doubled inside."""
    return {
        "begin": quote,
        "end": quote,
        "name": SCOPES["string"],
        "patterns": [{"match": quote * 2, "name": "constant.character.escape.ceql"}],
    }


def _signs(signs: tuple[str, ...]) -> str:
    return "|".join(re.escape(each) for each in sorted(signs, key=len, reverse=True))


def grammar() -> Rule:
    """Return the grammar: as JSON, a .tmLanguage.json file."""
    keyword: Class = "keyword"
    return {
        "name": "CEQL",
        "scopeName": "source.ceql",
        "fileTypes": ["ceql"],
        "patterns": [{"include": "#header"}, {"include": "#query"}],
        "repository": {
            "header": {
                "begin": r"\A\+\+\+[ \t]*$",
                "end": r"^\+\+\+[ \t]*$",
                "name": "meta.embedded.block.frontmatter",
                "beginCaptures": {"0": {"name": "punctuation.definition.frontmatter.ceql"}},
                "endCaptures": {"0": {"name": "punctuation.definition.frontmatter.ceql"}},
                "patterns": [{"include": "source.toml"}],
            },
            "query": {
                "patterns": [
                    {"include": "#event"},
                    {"include": "#case"},
                    {"include": "#token"},
                ]
            },
            "event": {
                "begin": rf"\b((?i:EVENT))\s+({_WORD}|{SHAPES['backquote']})\s*(\{{)",
                "beginCaptures": {
                    "1": {"name": SCOPES["keyword"]},
                    "2": {"name": SCOPES["name"]},
                    "3": {"name": SCOPES["operator"]},
                },
                "end": r"\}",
                "endCaptures": {"0": {"name": SCOPES["operator"]}},
                "patterns": [
                    _captured(rf"(:)\s*({_WORD})", "operator", "type"),
                    {"include": "#token"},
                ],
            },
            "case": {
                "begin": r"\b(?i:CASE)\b(?=\s+(?i:WHEN)\b)",
                "beginCaptures": {"0": {"name": SCOPES["keyword"]}},
                "end": r"\b(?i:END)\b",
                "endCaptures": {"0": {"name": SCOPES["keyword"]}},
                "patterns": [
                    {"include": "#case"},
                    _match(r"\b(?i:WHEN|THEN|ELSE)\b", keyword),
                    {"include": "#token"},
                ],
            },
            "token": {"patterns": _tokens()},
        },
    }


def _tokens() -> list[Rule]:
    keyword: Class = "keyword"
    return [
        {"begin": r"/\*", "end": r"\*/", "name": SCOPES["comment"]},
        _match(r"--[^\n]*", "comment"),
        _quoted("'"),
        _quoted('"'),
        _match(SHAPES["backquote"], "name"),
        _match(SHAPES["PARAMETER"], "parameter"),
        _captured(
            rf"({_NUMBER})(?:\s+(?!(?i:{_words(RESERVED | WORDS)})\b)({_WORD}))?", "number", "unit"
        ),
        _captured(
            rf"\b((?i:SELECT))\s+((?i:{_words(STRATEGIES)}))\b"
            rf"(?=\s*(?:\*|(?!(?i:FROM|AS)\b){_WORD}|`))",
            keyword,
            keyword,
        ),
        _captured(r"\b((?i:NOT))\s+((?i:FOLLOWED))\s+((?i:BY))\b", keyword, keyword, keyword),
        _captured(r"\b((?i:CREATE))\s+((?i:STREAM))\b", keyword, keyword),
        _captured(r"\b((?i:IN))\s+((?i:RANGE))\b(?=\s*\()", keyword, keyword),
        _match(r"\b(?i:TIMESTAMP|DATE)\b(?=\s*['\"])", keyword),
        _captured(rf"(\()\s*((?i:DISTINCT))\b(?=\s+{_WORD})", "punctuation", keyword),
        _match(rf"\b(?i:{_words(CONSTANTS)})\b", "constant"),
        _match(rf"\b(?i:{_words(RESERVED - CONSTANTS)})\b", keyword),
        _match(rf"{_WORD}(?=\s*\()", "function"),
        _match(_WORD, "name"),
        _match(_signs(OPERATORS), "operator"),
        _match(_signs(PUNCTUATION), "punctuation"),
        _match(r"\S", "error"),
    ]
