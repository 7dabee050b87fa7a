"""A set of rules as it travels: from the place where it is kept to the log of a micro-batch.

Texts travel, not compiled queries, so that what stands in a checkpoint is read by every release.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ensue.rules.files import RuleText

_SET = "set"


@dataclass(frozen=True, slots=True)
class VersionedRule:
    """A rule that is known to compile, with the version of what it means."""

    version: str
    """A hash of the query, whatever its layout, its parameters and its settings."""
    text: RuleText


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a micro-batch by name."""

    rules: Mapping[str, VersionedRule] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Rules that cannot be used, and why; an earlier version of such a rule goes on."""

    @property
    def versions(self) -> dict[str, str]:
        """The version of each rule that can be used."""
        return {name: rule.version for name, rule in sorted(self.rules.items())}

    def encode(self) -> str:
        """Write the set as JSON: equal sets are written alike."""
        rules = {name: asdict(rule) for name, rule in self.rules.items()}
        return _json({"rules": rules, "skipped": dict(self.skipped)})

    @classmethod
    def decode(cls, text: str) -> RuleSet:
        """Read what `encode` wrote."""
        read = json.loads(text)
        rules = {
            name: VersionedRule(each["version"], RuleText(**each["text"]))
            for name, each in read["rules"].items()
        }
        return cls(rules, read["skipped"])

    def offset(self) -> dict[str, Any]:
        """Write the set as an offset of a source, which Spark logs with the micro-batch.

        Versions are there to be read by people, the set itself is compressed.
        """
        packed = b64encode(zlib.compress(self.encode().encode(), 9)).decode()
        return {"versions": self.versions, "skipped": sorted(self.skipped), _SET: packed}


def text_at(offset: Mapping[str, Any]) -> str:
    """Return the set at an offset as `RuleSet.encode` wrote it."""
    return zlib.decompress(b64decode(offset[_SET])).decode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
