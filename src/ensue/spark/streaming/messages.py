"""Tables of events and rows as Arrow messages in one binary column, and blocks of state.

So they pass through Spark without being converted to pandas or to rows. All are compressed: they
are copied several times on their way through sockets, shuffles and the state store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_CODEC = pa.Codec("lz4")

_MARK = b"ensue lz4"
"""What a compressed block begins with; the size of the block follows."""
_SIZE_BYTES = 8

_SMALL_MESSAGE = 1 << 16
"""Messages of fewer bytes on average are written anew as one: each has a schema of its own."""


def message_of(table: pa.Table) -> bytes:
    """Write a table as one Arrow message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def tables_of(messages: bytes) -> Iterator[pa.Table]:
    """Read Arrow messages that follow each other, each as a table."""
    source = pa.BufferReader(messages)
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as reader:
            yield reader.read_all()


def table_of(messages: bytes) -> pa.Table:
    """Read Arrow messages that follow each other as one table."""
    return pa.concat_tables(tables_of(messages))


def joined(messages: Iterable[bytes]) -> bytes:
    """Put Arrow messages of one schema together."""
    every = list(messages)
    together = b"".join(every)
    if len(every) > 1 and len(together) < _SMALL_MESSAGE * len(every):
        return message_of(table_of(together).combine_chunks())
    return together


def compressed(block: bytes) -> bytes:
    """Compress a block of state."""
    size = len(block).to_bytes(_SIZE_BYTES, "little")
    return b"".join((_MARK, size, _CODEC.compress(block, asbytes=True)))


def decompressed(stored: bytes) -> bytes:
    """Return a block that may be compressed: those of earlier releases are not."""
    if not stored.startswith(_MARK):
        return stored
    begin = len(_MARK) + _SIZE_BYTES
    size = int.from_bytes(stored[len(_MARK) : begin], "little")
    return bytes(_CODEC.decompress(stored[begin:], size))
