# SPDX-License-Identifier: Apache-2.0
"""What AquaConnector counts of its streams, as vLLM carries it to its /metrics."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from conftest import PACKAGE
from vllm_streams import Engine

from aqua_kv.vllm.connector import AquaConnector

BLOCKS = [0, 1, 2, 3, 4]  # of a prompt of 20 tokens, where they are computed


def counts(engine):
    """By worker."""
    told = [worker.connector.get_kv_connector_stats() for worker in engine.workers]
    return [each.data if each is not None else None for each in told]


@pytest.fixture
def prometheus():
    """As much of prometheus_client as vLLM gives a connector: `samples` by name and labels."""
    made = []

    class Counter:
        samples = {}

        def __init__(self, name, documentation, labelnames):
            assert name not in made, f"Duplicated timeseries in CollectorRegistry: {name}"
            made.append(name)
            self._name, self._labelnames = name, labelnames

        def labels(self, *values):
            assert len(values) == len(self._labelnames)
            key = (self._name, *zip(self._labelnames, values))
            self.samples.setdefault(key, 0)

            def inc(amount):
                self.samples[key] += amount

            return SimpleNamespace(inc=inc)

    return Counter


def test_what_arrived_and_what_was_cut_off_is_told_once(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    assert counts(decode) == [None, None] and counts(prefill) == [None]
    _, params = prefill.prefill("a", 1, 20, BLOCKS)
    prefill.sent("a")
    assert decode.decode("a", 20, [7, 8, 9], params) == []
    assert counts(decode) == [{"arrived": 1}] * 2
    assert counts(decode) == [None, None]
    _, params = prefill.prefill("b", 2, 20, BLOCKS, layers=1)
    prefill.until_streaming("b")
    prefill.close()  # which takes it back
    assert decode.decode("b", 20, [4, 5, 6], params) == [4, 5, 6]
    assert counts(decode) == [{"cut_off": 1}] * 2
    assert decode.scheduler.get_kv_connector_stats() is None
    decode.close()
    assert counts(decode) == [None, None]


def test_what_the_next_keeper_brings_counts_anew(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    for name in ("a", "b"):
        _, params = prefill.prefill(name, 1, 20, BLOCKS)
        prefill.sent(name)
        assert decode.decode(name, 20, [7, 8, 9], params) == []
        assert counts(decode) == [{"arrived": 1}] * 2
        if name == "a":
            keeper.process.kill()
            keeper.process.wait()
            keeper.start()
            for engine in (prefill, decode):
                engine.until_attached()
    prefill.close()
    decode.close()


def test_it_reaches_metrics_under_the_names_and_labels_of_other_engines(prometheus):
    config = SimpleNamespace(kv_transfer_config=None)
    labels = (["model_name", "engine"], {0: ["m", "0"], 1: ["m", "1"]})
    AquaConnector.build_prom_metrics(config, {prometheus: prometheus}, *labels)
    metrics = AquaConnector.build_prom_metrics(config, {prometheus: prometheus}, *labels)
    assert set(prometheus.samples.values()) == {0}
    total = AquaConnector.build_kv_connector_stats({"arrived": 2, "refused": 1})
    total = total.aggregate(AquaConnector.build_kv_connector_stats({"arrived": 1, "cut_off": 4}))
    metrics.observe(json.loads(json.dumps(total.data)), 1)
    metrics.observe({"arrived": 5}, 0)
    streams, engine = "aqua_engine_streams_total", [("model_name", "m"), ("engine", "1")]
    assert prometheus.samples[(streams, *engine, ("what", "arrived"))] == 3
    assert prometheus.samples[(streams, *engine, ("what", "cut_off"))] == 4
    assert prometheus.samples[("aqua_engine_stream_parcels_refused_total", *engine)] == 1
    assert sum(prometheus.samples.values()) == 3 + 4 + 1 + 5
    rules = (PACKAGE.parent / "packaging/aqua-alerts.rules.yml").read_text()
    assert re.search(rf'increase\({streams}{{what="cut_off"}}', rules), "what the alert asks for"


def test_what_vllm_adds_up_changes_nothing_that_it_has_handed_out():
    given = {"arrived": 1}
    total = AquaConnector.build_kv_connector_stats(given)
    assert total.aggregate(AquaConnector.build_kv_connector_stats({"arrived": 2})) is total
    assert total.reduce() == {"arrived": 3} and given == {"arrived": 1}
    total.reset()
    assert total.is_empty() and AquaConnector.build_kv_connector_stats().is_empty()
