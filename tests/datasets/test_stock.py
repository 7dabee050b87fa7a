"""The generated trades are deterministic, whatever the batches, and look like trades."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.datasets import stock, stock_schema, stock_table, stock_trades
from tests.effort import costly

MANY = 200_000


@pytest.fixture(scope="module")
def trades() -> pa.Table:
    return stock_table(MANY, seed=3)


def column(table: pa.Table, name: str) -> Any:
    return table[name].to_numpy()


def test_batches_have_the_promised_columns() -> None:
    schema = stock_schema()
    assert schema.names == ["type", "id", "name", "volume", "price", "stock_time"]
    assert schema.field("type").type.value_type == pa.string()
    assert schema.field("name").type.value_type == pa.string()
    assert all(batch.schema.equals(schema) for batch in stock_trades(70_000))


@given(events=st.integers(0, 140_000), size=st.integers(1000, 150_000), seed=st.integers(0, 2**70))
@costly
def test_events_do_not_depend_on_the_size_of_batches(events: int, size: int, seed: int) -> None:
    batches = list(stock_trades(events, seed=seed, batch_size=size))
    assert [batch.num_rows for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert pa.Table.from_batches(batches, stock_schema()).equals(stock_table(events, seed=seed))


def test_batches_may_be_single_events() -> None:
    batches = list(stock_trades(50, batch_size=1))
    assert len(batches) == 50
    assert pa.Table.from_batches(batches).equals(stock_table(50))


def test_fewer_events_are_the_first_of_more() -> None:
    assert stock_table(100_000).slice(0, 70_000).equals(stock_table(70_000))


def test_no_events_are_no_batches() -> None:
    assert list(stock_trades(0)) == []
    assert stock_table(0).schema.equals(stock_schema())


def test_seeds_make_different_events() -> None:
    assert stock_table(1000, seed=1).equals(stock_table(1000, seed=1))
    assert not stock_table(1000, seed=1).equals(stock_table(1000, seed=2))


def test_ids_count_from_zero(trades: pa.Table) -> None:
    assert np.array_equal(column(trades, "id"), np.arange(MANY))


def test_times_do_not_decrease_and_follow_the_rate(trades: pa.Table) -> None:
    times = column(trades, "stock_time")
    assert (np.diff(times) >= 0).all()
    assert MANY / (times[-1] - times[0]) * 1000 == pytest.approx(4800, rel=0.02)
    slow = column(stock_table(20_000, rate=2.5), "stock_time")
    assert 20_000 / (slow[-1] - slow[0]) * 1000 == pytest.approx(2.5, rel=0.05)


def test_about_half_of_the_trades_are_buys(trades: pa.Table) -> None:
    counts = {
        each["values"]: each["counts"] for each in pc.value_counts(trades["type"]).to_pylist()
    }
    assert set(counts) == {"BUY", "SELL"}
    assert counts["BUY"] == pytest.approx(MANY / 2, rel=0.03)


def test_every_symbol_is_traded_often(trades: pa.Table) -> None:
    counts = pc.value_counts(trades["name"]).to_pylist()
    assert {each["values"] for each in counts} == set(stock.SYMBOLS)
    assert len(stock.SYMBOLS) == 10
    assert min(each["counts"] for each in counts) > MANY / 20


def test_prices_are_cents_that_walk_near_their_level(trades: pa.Table) -> None:
    for name, level in stock._LEVELS.items():
        prices = column(trades.filter(pc.equal(trades["name"], name)), "price")
        assert np.array_equal(prices, np.round(prices, 2))
        assert (np.abs(np.diff(prices)) < 0.031).all()
        assert prices.min() >= 0.899 * level
        assert prices.max() <= 1.101 * level
        assert prices.std() > 0


def test_prices_stay_within_bounds_for_as_long_as_one_likes() -> None:
    table = stock_table(500_000, symbols=["ORCL"])
    prices = column(table, "price")
    assert prices.min() == pytest.approx(9.90)
    assert prices.max() == pytest.approx(12.10)
    assert (np.abs(np.diff(prices)) < 0.031).all()


def test_volumes_are_lots(trades: pa.Table) -> None:
    volumes = column(trades, "volume")
    assert volumes.min() > 0
    assert np.median(volumes) == 300
    assert (volumes % 100 == 0).mean() > 0.8
    assert volumes.max() >= 10_000


def test_symbols_are_selectable_and_need_not_be_known() -> None:
    table = stock_table(10_000, symbols=["EINS", "ZWEI", "MSFT"])
    assert set(table["name"].to_pylist()) == {"EINS", "ZWEI", "MSFT"}
    assert column(table, "price").min() > 4
    again = stock_table(10_000, symbols=("EINS", "ZWEI", "MSFT"))
    assert table.equals(again)


def test_many_symbols_are_fine() -> None:
    names = [f"S{number}" for number in range(1000)]
    table = stock_table(100_000, symbols=names)
    assert set(table["name"].to_pylist()) == set(names)


def test_a_walk_is_the_sum_of_its_steps() -> None:
    random = np.random.default_rng(0)
    symbol, steps = random.integers(0, 4, 500), random.integers(-3, 4, 500)
    place = np.array([5, -7, 0, 100, 9])
    walked, last = stock._walk(symbol, steps, place)
    for at in range(500):
        place[symbol[at]] += steps[at]
        assert walked[at] == place[symbol[at]]
    assert np.array_equal(last, place)


def test_batches_can_be_pickled() -> None:
    (batch,) = stock_trades(10)
    assert pickle.loads(pickle.dumps(batch)).equals(batch)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"events": -1}, "events must be an integer of at least 0, not -1"),
        ({"events": 1.5}, "events must be an integer"),
        ({"events": True}, "events must be an integer"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, not 0"),
        ({"rate": 0.0}, "rate must be a positive number"),
        ({"rate": -1.0}, "rate must be a positive number"),
        ({"rate": math.inf}, "rate must be a positive number"),
        ({"rate": math.nan}, "rate must be a positive number"),
        ({"symbols": []}, "at least one name"),
        ({"symbols": [""]}, "at least one name"),
        ({"symbols": "MSFT"}, "a list of at least one name, not 'MSFT'"),
        ({"symbols": ["A", "B", "A"]}, "different names"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        stock_trades(**{"events": 10, **arguments})
