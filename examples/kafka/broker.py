"""A Kafka broker of one node on this machine, for demos and tests: no ZooKeeper, no container."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from examples.kafka.jars import Module, fetch, java

KAFKA = "4.3.1"

_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
"""For a JVM that lives for seconds, compiling less costs less."""

_PATIENCE = 300.0

_SETTINGS = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/topics
num.partitions={partitions}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """A broker that runs in a child process as long as the `with` block does.

    Topics come into being when somebody writes to them or reads them.
    """

    def __init__(self, folder: Path, *, partitions: int = 2) -> None:
        """Take a folder that is empty or not there yet."""
        self.folder = folder
        self._partitions = partitions
        self._jars = ":".join(map(str, broker_jars()))
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def servers(self) -> str:
        """The address, as kafka.bootstrap.servers takes it."""
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        """Format the storage, start the broker, and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._port, controller = _free_ports(2)
        settings = self.folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(
                port=self._port,
                controller=controller,
                folder=self.folder,
                partitions=self._partitions,
            ),
            encoding="utf-8",
        )
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        format_ = ["format", "--cluster-id", f"c{cluster[1:]}", "--config", str(settings)]
        done = self.tool("kafka.tools.StorageTool", *format_, stdout=subprocess.PIPE)
        told, _ = done.communicate()
        if done.returncode != 0:
            raise RuntimeError(f"the broker's storage cannot be formatted: {told}\n{self.log()}")
        self._process = self.tool("kafka.Kafka", str(settings))
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the broker: with a signal that lets it close its files, else by force."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def write(self, topic: str, messages: Iterable[tuple[str, str]]) -> None:
        """Append keys and values to a topic; equal keys go to one partition, in this order."""
        with self.writer(topic) as send:
            for key, value in messages:
                send(key, value)

    @contextlib.contextmanager
    def writer(self, topic: str) -> Iterator[Writer]:
        """Open a topic for writing; what was written is there when the block ends."""
        tool = self.tool(
            "org.apache.kafka.tools.ConsoleProducer",
            *["--bootstrap-server", self.servers, "--topic", topic],
            *["--reader-property", "parse.key=true"],  # before the first tab
            stdin=subprocess.PIPE,
        )
        with _ended(tool):
            assert tool.stdin is not None
            yield Writer(tool)
            tool.stdin.close()
            if tool.wait(_PATIENCE) != 0:
                raise RuntimeError(f"writing to the topic {topic} failed: {self.log()}")

    @contextlib.contextmanager
    def reader(self, topic: str, messages: int | None = None) -> Iterator[Iterator[str]]:
        """Open a topic for reading: its values from the beginning, as they come."""
        most = [] if messages is None else ["--max-messages", str(messages)]
        tool = self.tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *["--bootstrap-server", self.servers, "--topic", topic, "--from-beginning", *most],
            stdout=subprocess.PIPE,
        )
        with _ended(tool):
            assert tool.stdout is not None
            yield (line.rstrip("\n") for line in tool.stdout)

    def read(self, topic: str) -> list[str]:
        """Return the values of all messages that are in a topic now."""
        with self.reader(topic, self.count(topic)) as values:
            return list(values)

    def count(self, topic: str) -> int:
        """Return how many messages were ever written to a topic."""
        ask = ["--bootstrap-server", self.servers, "--topic", topic]
        tool = self.tool("org.apache.kafka.tools.GetOffsetShell", *ask, stdout=subprocess.PIPE)
        with _ended(tool):
            told, _ = tool.communicate(timeout=_PATIENCE)
            if tool.returncode != 0:
                raise RuntimeError(f"counting the messages of {topic} failed: {self.log()}")
        # topic:partition:offset
        return sum(int(line.rsplit(":", 1)[1]) for line in told.splitlines())

    def tool(
        self, main: str, *arguments: str, stdin: int | None = None, stdout: int | None = None
    ) -> subprocess.Popen[str]:
        """Start the broker or one of Kafka's command line tools; complaints go to the log."""
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [java(), *_QUICK, level, "-cp", self._jars, main, *arguments],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=log,
                text=True,
                encoding="utf-8",
                # Ctrl-C is for the demo, which closes what it has opened.
                start_new_session=True,
            )

    def log(self) -> str:
        """Return the end of what the broker and the tools have to say."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"the broker did not start: {self.log()}")
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


class Writer:
    """Sends messages to a topic."""

    def __init__(self, tool: subprocess.Popen[str]) -> None:
        """Take a console producer."""
        self._tool = tool

    def __call__(self, key: str, value: str) -> None:
        """Hand over one message; neither part may contain a line break, nor the key a tab."""
        assert self._tool.stdin is not None
        self._tool.stdin.write(f"{key}\t{value}\n")

    def flush(self) -> None:
        """Hand on what is buffered on this side."""
        assert self._tool.stdin is not None
        self._tool.stdin.flush()


def broker_jars() -> list[Path]:
    """Return the jars of the broker and of its command line tools."""
    return fetch(
        f"kafka-{KAFKA}",
        lambda: [
            Module("org.apache.kafka", "kafka_2.13", KAFKA),
            # What the tools depend on beyond the broker is Kafka Connect, for other tools.
            Module("org.apache.kafka", "kafka-tools", KAFKA, alone=True),
            Module("org.slf4j", "slf4j-simple", "1.7.36"),
        ],
    )


@contextlib.contextmanager
def _ended(tool: subprocess.Popen[str]) -> Iterator[None]:
    """Leave no process behind, whatever happens."""
    try:
        yield
    finally:
        if tool.poll() is None:
            tool.kill()
        tool.wait()
        for pipe in (tool.stdin, tool.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
