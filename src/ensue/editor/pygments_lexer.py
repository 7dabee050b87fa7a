"""CEQL for Pygments, registered as `ceql`: documentation and notebooks highlight queries.

A header between two lines `+++` is highlighted as TOML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.lexers.configs import TOMLLexer
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from ensue.editor.classes import Class, classes

TOKENS: dict[Class, Any] = {
    "comment": Comment,
    "string": String,
    "number": Number,
    "parameter": Name.Variable,
    "keyword": Keyword,
    "constant": Keyword.Constant,
    "operator": Operator,
    "function": Name.Function,
    "unit": Keyword.Pseudo,
    "type": Keyword.Type,
    "name": Name,
    "punctuation": Punctuation,
    "space": Whitespace,
    "error": Error,
}

_HEADER = re.compile(r"(\+\+\+[ \t]*\n)(.*?)(^\+\+\+[ \t]*(?:\n|\Z))", re.MULTILINE | re.DOTALL)


class CeqlLexer(Lexer):  # type: ignore[misc]
    """Tokens of queries and of rule files, from the lexer of the language itself."""

    name = "CEQL"
    aliases: ClassVar[list[str]] = ["ceql"]
    filenames: ClassVar[list[str]] = ["*.ceql"]
    mimetypes: ClassVar[list[str]] = ["text/x-ceql"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yield place, token type and text of all parts."""
        query = 0
        header = _HEADER.match(text)
        if header is not None:
            yield 0, Comment.Preproc, header[1]
            for at, kind, part in TOMLLexer().get_tokens_unprocessed(header[2]):
                yield header.start(2) + at, kind, part
            yield header.start(3), Comment.Preproc, header[3]
            query = header.end()
        for token, kind in classes(text[query:]):
            yield query + token.span.start, TOKENS[kind], token.text
