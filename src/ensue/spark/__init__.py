"""Queries over Spark DataFrames, batch and streaming."""

from ensue.spark.explain import explain
from ensue.spark.java import JavaError
from ensue.spark.kernels import warm
from ensue.spark.recognize import recognize
from ensue.spark.session import session
from ensue.spark.sql.register import register
from ensue.spark.unseen import unseen
from ensue.spark.watching import missing
from ensue.spark.workers import WorkerError

__all__ = [
    "JavaError",
    "WorkerError",
    "explain",
    "missing",
    "recognize",
    "register",
    "session",
    "unseen",
    "warm",
]
