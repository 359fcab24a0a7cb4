# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: engines and ranks that start together, wait for each other, and die."""

from __future__ import annotations

import subprocess
import threading

import numpy as np
import pytest
from vllm_loader_engines import (  # noqa: F401  (among them fixtures)
    answer,
    engine,
    mappings_that_are_read_only,
    refusal,
    refused,
    start,
    torch,
    within,
)
from vllm_models import contents

from aqua_kv import NewWeight, publish_weights


def test_of_two_at_the_same_time_one_reads(start):
    processes = [start(read_seconds=0.5, stay=True) for _ in range(3)]
    said = [answer(process) for process in processes]
    assert sorted(each["reads"] for each in said) == [0, 0, 1]
    assert all(each["contents"] == said[0]["contents"] for each in said)


def test_when_the_one_that_reads_dies_the_one_that_waits_reads(start):
    first = start(read_seconds=60)
    assert first.stdout.readline() == "reading\n"
    second = start()
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(timeout=1)
    first.kill()
    first.communicate()
    assert answer(second)["reads"] == 1


def test_waiting_ends(engine, start):
    first = start(read_seconds=60)
    assert first.stdout.readline() == "reading\n"
    with refused("another engine has been loading it for more than 0 s", "wait_seconds"):
        engine(wait_seconds=0).load()


def test_who_was_told_zero_is_the_one_to_read(start):
    """The claim is held from get_external_weight_memory() on: what it said stays so."""
    processes = [start(ask=True, read_seconds=0.3) for _ in range(2)]
    said = [answer(process) for process in processes]
    assert sorted((each["reads"], each["external"] > 0) for each in said) == [(0, True), (1, False)]


def test_a_claim_goes_when_the_configuration_changes_before_the_model_is_loaded(engine, start):
    before, changed = engine(), engine(width=96)
    assert before.external_bytes() == 0
    changed.load()
    assert answer(start(extra={"wait_seconds": 0}))["reads"] == 1


def test_who_publishes_second_maps_the_first_ones(engine, monkeypatch, caplog):
    """Without claims, as if the keeper had forgotten them."""
    from aqua_kv.vllm import sharing

    class NoClaim:
        def close(self):
            pass

    monkeypatch.setattr(sharing, "claim_weights", lambda *_, **__: NoClaim())
    slow, quick = engine(), engine()
    made = slow.hf.model_class()
    models = []

    def make(config):
        model = made(config)
        reading = model.load

        def load(config):
            reading(config)
            models.append(quick.load())

        object.__setattr__(model, "load", load)
        return model

    slow.hf.model_class = lambda: make
    models.append(slow.load())
    assert (slow.hf.reads, quick.hf.reads) == (1, 1)
    assert "published by another engine meanwhile" in caplog.text
    assert contents(models[0]) == contents(models[1])
    assert within(models[1].qkv.weight, mappings_that_are_read_only())


@pytest.fixture
def ranks(start, tmp_path):
    """Starts the two ranks of an engine, which meet in a folder of its name."""

    def ranks(engine, **told):
        place = tmp_path / engine
        place.mkdir()
        return [start(rank=i, ranks=2, seed=i + 1, place=str(place), **told) for i in (0, 1)]

    return ranks


def test_ranks_publish_shards_and_map_once_all_are_there(ranks):
    first = [answer(each) for each in ranks("first", read_seconds=0.3)]
    absent = {"when_missing": "fail"}
    again = [answer(each) for each in ranks("second", extra=absent)]
    assert [each["reads"] for each in first + again] == [1, 1, 0, 0]
    assert [each["contents"] for each in first] == [each["contents"] for each in again]
    assert first[0]["contents"] != first[1]["contents"]


def test_engines_of_two_ranks_that_start_together_do_not_wait_for_each_other(ranks):
    started = [
        each
        for engine in ("a", "b")
        for each in ranks(engine, read_seconds=0.5, ask=True, stay=True)
    ]
    said = [answer(each) for each in started]
    assert sorted([said[0]["reads"] + said[1]["reads"], said[2]["reads"] + said[3]["reads"]]) == [0, 2]
    assert [said[i]["contents"] for i in (0, 1)] == [said[i]["contents"] for i in (2, 3)]


def test_every_rank_is_told_what_the_first_one_met(ranks):
    first, second = [refusal(each) for each in ranks("a", extra={"when_missing": "fail"})]
    assert first.split(": ", 1)[1].startswith("load format aqua: vllm/small/")
    assert "(shard 0 of 2) is not published" in first and "start an engine" in first
    assert second.split(": ", 1)[1] == f"the engine's first rank: {first.split(': ', 1)[1]}"


def test_no_rank_waits_for_a_first_one_that_could_not_name_the_checkpoint(start, tmp_path):
    second = start(rank=1, ranks=2, place=str(tmp_path))
    first = start(rank=0, ranks=2, place=str(tmp_path), extra={"version": ""})
    assert "its commit is not known" in refusal(first)
    assert "the engine's first rank: small is no local directory" in refusal(second)


def test_the_first_rank_tells_whatever_it_met():
    from aqua_kv.vllm.sharing import first_rank_says
    from vllm.distributed.parallel_state import GroupCoordinator

    said = []
    first = GroupCoordinator(0, 2)
    first.broadcast_object = lambda told, src: said.append(told) or told
    with pytest.raises(MemoryError):
        first_rank_says(first, lambda: (_ for _ in ()).throw(MemoryError()))
    second = GroupCoordinator(1, 2)
    second.broadcast_object = lambda told, src: said[0]
    with refused("the engine's first rank: MemoryError"):
        first_rank_says(second, lambda: "never asked")


def test_all_ranks_have_the_version_that_the_first_one_finds(ranks):
    """As where their file systems say other things of one file."""
    first, second = ranks("a", versions=["of the first", "of the second"])
    assert answer(first)["reads"] + answer(second)["reads"] == 2


def test_a_rank_whose_version_is_superseded_before_all_shards_are_there_does_not_wait(
    engine, runtime, keeper, monkeypatch
):
    from aqua_kv.vllm.identity import Identity
    from aqua_kv.vllm.sharing import Session

    one = engine()
    new = [NewWeight("a", "U8", np.zeros(4, np.uint8))]
    session = Session(Identity("m", "1", 0, 2, {}), one.make().options, runtime)
    waits = []

    def supersede():
        waits.append(1)
        assert not session._has_gone()
        for shard in range(2):
            publish_weights(runtime, "m", "2", new, shard=shard, shards=2, keeper=keeper.socket)

    def wait_for(*what):
        other = threading.Thread(target=supersede)
        other.start()
        try:
            return Session._wait_for(session, *what)
        finally:
            other.join()

    monkeypatch.setattr(session, "_wait_for", wait_for)
    with refused("another version of m was published before all shards of 1 were", "start again"):
        session.publish(new)
    assert len(waits) == 1
