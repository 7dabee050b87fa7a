"""The language server: the functions of this room, spoken in the Language Server Protocol."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from ensue.editor.checking import check
from ensue.editor.completion import Item, Kind, complete
from ensue.editor.document import Document
from ensue.editor.formatting import FormatError, format_document
from ensue.editor.hover import hover
from ensue.errors import CeqlError, Diagnostic, Span
from ensue.messages import spelled
from ensue.rules.settings import as_setting

_KINDS: dict[Kind, lsp.CompletionItemKind] = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "operator": lsp.CompletionItemKind.Operator,
    "function": lsp.CompletionItemKind.Function,
    "event": lsp.CompletionItemKind.Event,
    "variable": lsp.CompletionItemKind.Variable,
    "attribute": lsp.CompletionItemKind.Field,
    "stream": lsp.CompletionItemKind.Module,
    "parameter": lsp.CompletionItemKind.Constant,
    "unit": lsp.CompletionItemKind.Unit,
    "type": lsp.CompletionItemKind.TypeParameter,
    "setting": lsp.CompletionItemKind.Property,
}


def make_server() -> LanguageServer:
    """Return a server that knows CEQL; `start_io` runs it on standard input and output."""
    server = LanguageServer("ensue", _version())

    def document_of(uri: str) -> tuple[TextDocument, Document]:
        shown = server.workspace.get_text_document(uri)
        path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else None
        return shown, Document(shown.source, None if path is None else Path(path))

    def publish(uri: str) -> None:
        shown, document = document_of(uri)
        found = [_diagnostic(shown, each) for each in check(document)]
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, shown.version)
        )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def _saved(params: lsp.DidSaveTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(params.text_document.uri, [])
        )

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
        shown, document = document_of(params.text_document.uri)
        said = hover(document, shown.offset_at_position(params.position), check(document))
        if said is None:
            return None
        text, span = said
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), _range(shown, span))

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "[", "$", " "])
    )
    def _complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        shown, document = document_of(params.text_document.uri)
        offset = shown.offset_at_position(params.position)
        items = complete(document, offset)
        return lsp.CompletionList(False, [_item(item, at) for at, item in enumerate(items)])

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def _format(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        shown, document = document_of(params.text_document.uri)
        try:
            text = format_document(document)
        except CeqlError as error:
            _say(server, f"Not formatted: line {error.line} has an error ({error.code}).")
            return None
        except FormatError as error:
            _say(server, f"Not formatted: {error}.")
            return None
        if text == shown.source:
            return []
        return [lsp.TextEdit(_range(shown, Span(0, len(shown.source))), text)]

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def _fixes(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        shown, document = document_of(params.text_document.uri)
        return [
            _fix(shown, each)
            for each in check(document)
            if each.fix is not None and _overlaps(_range(shown, each.span), params.range)
        ]

    return server


def _version() -> str:
    try:
        return version("ensue")
    except PackageNotFoundError:
        return "0"


def _say(server: LanguageServer, text: str) -> None:
    server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, text))


def _range(shown: TextDocument, span: Span) -> lsp.Range:
    """Return a span in the units that the client counts in; one beyond the end, at the end."""
    size = len(shown.source)
    start, end = (shown.client_position_at_offset(min(each, size)) for each in span)
    return lsp.Range(start, end)


def _diagnostic(shown: TextDocument, diagnostic: Diagnostic) -> lsp.Diagnostic:
    message = spelled(diagnostic.message, as_setting)
    if diagnostic.hint:
        message += "\n" + spelled(diagnostic.hint, as_setting)
    warning = diagnostic.is_warning
    return lsp.Diagnostic(
        _range(shown, diagnostic.span),
        message,
        severity=lsp.DiagnosticSeverity.Warning if warning else lsp.DiagnosticSeverity.Error,
        code=diagnostic.code,
        source="ensue",
    )


def _item(item: Item, order: int) -> lsp.CompletionItem:
    meaning = lsp.MarkupContent(lsp.MarkupKind.Markdown, item.meaning) if item.meaning else None
    return lsp.CompletionItem(
        item.text,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=meaning,
        sort_text=f"{order:04}",
    )


def _fix(shown: TextDocument, diagnostic: Diagnostic) -> lsp.CodeAction:
    fix = diagnostic.fix
    assert fix is not None
    edits: dict[str, Sequence[Any]] = {shown.uri: [lsp.TextEdit(_range(shown, fix.span), fix.text)]}
    title = diagnostic.hint or f"write {fix.text}"
    return lsp.CodeAction(
        spelled(title, as_setting),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(shown, diagnostic)],
        edit=lsp.WorkspaceEdit(changes=edits),
        is_preferred=True,
    )


def _overlaps(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end
