"""From a topic of JSON events to a topic of alerts, as a stream on Spark.

    python -m examples.kafka.job --servers localhost:9092 --checkpoint state

Killed at any moment, the job goes on from its checkpoint, and no alert is lost. Kafka's sink writes
at least once: after a crash some alerts are in the topic twice. Their key is the `match_id`, which
is the same whenever and wherever the match is found, so a reader drops what it has seen, or the
topic is compacted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

from ensue.spark import recognize, session
from examples.kafka.jars import Module, fetch, published

QUERY = """\
-- A large sale, then two large purchases of that stock, each at a higher price
SELECT sale[price, volume], first[price, volume], second[price, volume]
FROM Trades
WHERE (SELL AS sale FILTER sale[volume >= 2000])
    ; (BUY AS first FILTER first[volume >= 2000])
    ; (BUY AS second FILTER second[volume >= 2000])
  FILTER first.price > sale.price AND second.price > first.price
PARTITION BY [name]
WITHIN 5 SECONDS [at]
"""

EVENT = "id BIGINT, type STRING, name STRING, price DOUBLE, volume BIGINT, at TIMESTAMP"


def read(spark: SparkSession, servers: str, topic: str, most: int) -> DataFrame:
    """Read events from a topic, at most so many in a micro-batch.

    What is not an event, such as malformed JSON, is left out; it would have no time, and an event
    without a time stops the job.
    """
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")  # of the first start; then the checkpoint knows
        .option("maxOffsetsPerTrigger", most)
        .load()
    )
    event = F.from_json(F.col("value").cast("string"), EVENT)
    return messages.select(event.alias("event")).select("event.*").where("at IS NOT NULL")


def alerts(events: DataFrame, tasks: int | None = None) -> DataFrame:
    """Recognize, and make each match a message: its id is the key, JSON the value."""
    found = recognize(events, QUERY, time="at", tiebreak="id", lateness="2 seconds", tasks=tasks)
    return found.select(F.col("match_id").alias("key"), F.to_json(F.struct("*")).alias("value"))


def write(found: DataFrame, servers: str, topic: str, checkpoint: str) -> DataStreamWriter:
    """Write messages to a topic."""
    return (
        found.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", topic)
        .option("checkpointLocation", checkpoint)
    )


def connector() -> list[Path]:
    """Return the jars that connect the installed Spark with Kafka.

    They belong to a version of Spark. Where the repository does not have those of this version yet,
    the newest before it are taken.
    """
    spark, group = pyspark.__version__, "org.apache.spark"
    names = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
    return fetch(
        f"spark-{spark}-kafka",
        lambda: [Module(group, name, published(group, name, spark)) for name in names],
        beside_spark=True,
    )


def with_connector() -> SparkSession:
    """Start Spark on this machine with Kafka's connector."""
    return session(config={"spark.jars": ",".join(map(str, connector()))})


def main() -> None:
    """Run the job until it is stopped, or until the topic has been read."""
    parser = argparse.ArgumentParser(prog="python -m examples.kafka.job", description=QUERY)
    parser.add_argument("--servers", required=True, help="the brokers, host:port,host:port")
    parser.add_argument("--checkpoint", required=True, help="a folder of this job alone")
    parser.add_argument("--events", default="trades", help="the topic to read")
    parser.add_argument("--alerts", default="alerts", help="the topic to write")
    parser.add_argument("--most", type=int, default=100_000, help="events in a micro-batch")
    parser.add_argument("--tasks", type=int, help="buckets of keys; a checkpoint keeps the number")
    parser.add_argument("--once", action="store_true", help="stop at the end of the topic")
    told = parser.parse_args()
    spark = with_connector()
    found = alerts(read(spark, told.servers, told.events, told.most), told.tasks)
    stream = write(found, told.servers, told.alerts, told.checkpoint)
    if told.once:
        stream = stream.trigger(availableNow=True)
    stream.start().awaitTermination()


if __name__ == "__main__":
    main()
