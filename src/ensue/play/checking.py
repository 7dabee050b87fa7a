"""What is wrong with a query as it is typed, and the names that it may use."""

from __future__ import annotations

from typing import Any

from ensue.engine.pipeline import Pipeline
from ensue.errors import CeqlError, Diagnostic, EnsueError, Source
from ensue.language.tokens import Token, tokenize
from ensue.messages import Setting, message_of, spelled
from ensue.plan.mode import ExecutionMode
from ensue.play.asking import Asked, RequestError, compiled_query, loaded
from ensue.predicates.vectors import UnsupportedError
from ensue.rules.files import split_rule
from ensue.rules.settings import as_setting

Answer = dict[str, Any]


def diagnostics(found: tuple[Diagnostic, ...], source: Source) -> list[Answer]:
    """Write errors and warnings with their places."""
    answers = []
    for each in found:
        line, column = source.place(min(each.span.start, len(source.text)))
        answers.append(
            {
                "start": each.span.start,
                "end": max(each.span.end, each.span.start + 1),
                "line": line,
                "column": column,
                "code": each.code,
                "warning": each.is_warning,
                "message": spelled(each.message, as_setting),
                "hint": None if each.hint is None else spelled(each.hint, as_setting),
                "fix": None if each.fix is None else [*each.fix.span, each.fix.text],
            }
        )
    return answers


def as_page(setting: Setting) -> str:
    """Spell an option as the page has it: settings have fields, limits are those of the command.

    >>> from ensue.messages import Option
    >>> as_page(Option("time")), as_page(Option("max_matches"))
    ("'time'", '`ensue play --max-matches`')
    """
    if setting.name.startswith("max_"):
        return f"`ensue play --{setting.name.replace('_', '-')}`"
    return as_setting(setting)


def problem_of(error: Exception) -> Answer:
    """Say what went wrong in a way that the page can show."""
    if isinstance(error, CeqlError):
        return {
            "kind": "query",
            "message": spelled(error.diagnostics[0].message, as_setting),
            "diagnostics": diagnostics(tuple(error.diagnostics), error.source),
        }
    kinds = {"EventError": "events", "BudgetError": "budget", "RequestError": "settings"}
    names = [kind.__name__ for kind in type(error).__mro__]
    kind = next((kinds[name] for name in names if name in kinds), "settings")
    return {"kind": kind, "message": spelled(message_of(error), as_page)}


def check(request: Answer) -> Answer:
    """Check a query against the events: diagnostics, and where its strategy stands."""
    asked = Asked.of(request)
    answer: Answer = {"diagnostics": [], "problem": None, "strategy": strategy_of(asked.query)}
    try:
        query = compiled_query(asked.query, asked.settings)
        answer["diagnostics"] = diagnostics(query.warnings, query.source)
        answer["streams"] = list(query.streams)
        ready = loaded(asked)
        mode = ExecutionMode(False, asked.limits, silent=True)
        Pipeline({"": ready.query}, ready.read, mode).prepare(ready.events.source)
    except CeqlError as error:
        answer["diagnostics"] = diagnostics(tuple(error.diagnostics), error.source)
    except UnsupportedError:
        pass  # decided on listing, when the query runs
    except (EnsueError, RequestError, ValueError, TypeError) as error:
        answer["problem"] = problem_of(error)
    return answer


def strategy_of(text: str) -> Answer | None:
    """Return the strategy of SELECT, and where another one would stand."""
    try:
        tokens = tokenize(split_rule(Source(text)).source)
    except EnsueError:
        return None
    at = max((n for n, token in enumerate(tokens) if token.kind == "SELECT"), default=None)
    if at is None:
        return None
    select, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
    if following is not None and _is_strategy(following, tokens[at + 2 : at + 3]):
        return {"name": following.text.upper(), "start": select.span.end, "end": following.span.end}
    return {"name": "ALL", "start": select.span.end, "end": select.span.end}


def _is_strategy(token: Token, after: list[Token]) -> bool:
    return token.kind in ("STRATEGY", "ALL") and bool(after) and after[0].kind != "FROM"
