"""The errors and warnings of a document, those of its header too."""

from __future__ import annotations

from ensue.editor.document import Document
from ensue.errors import CeqlError, Diagnostic, Span
from ensue.messages import message_of, spelled
from ensue.rules.diagnosis import diagnose
from ensue.rules.files import RuleError
from ensue.rules.settings import as_setting

HEADER = "rule"
"""The code of what is wrong with the settings of a rule."""


def check(document: Document) -> list[Diagnostic]:
    """Return all that is wrong with a text.

    >>> [(each.code, each.message) for each in check(Document("SELECT * FROM S WHERE A ;"))]
    []
    >>> [(each.code, each.hint) for each in check(Document("SELECT * FORM S WHERE A"))]
    [('E124', 'did you mean FROM?')]
    """
    try:
        return list(diagnose(document.rule())[1])
    except CeqlError as error:  # the file beside it is not UTF-8
        return list(error.diagnostics)
    except RuleError as error:
        return [_of_header(document, error)]


def _of_header(document: Document, error: RuleError) -> Diagnostic:
    """Place an error of the settings at its line, or at the first, where it is in another file."""
    text = document.text
    if error.line is None or document.query_start == 0:
        end = text.find("\n")
        message = spelled(message_of(error), as_setting)
        return Diagnostic(HEADER, Span(0, len(text) if end < 0 else end), message)
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: error.line - 1]))
    length = len(lines[error.line - 1].rstrip()) if error.line <= len(lines) else 0
    return Diagnostic(HEADER, Span(start, start + length), error.sentence)
