"""Queries over Spark DataFrames, batch and streaming."""

from ensue.spark.explain import explain
from ensue.spark.java import JavaError
from ensue.spark.recognize import recognize
from ensue.spark.session import session
from ensue.spark.sql.register import register
from ensue.spark.unseen import unseen

__all__ = ["JavaError", "explain", "recognize", "register", "session", "unseen"]
