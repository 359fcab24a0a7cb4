# SPDX-License-Identifier: Apache-2.0
"""Replicas with a real keeper: a worker is killed, and another one goes on with its sequences."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from closed_within import ClosedWithin
from conftest import PACKAGE
from device import DEVICE
from replica_stage import OWNER, SHAPE, TOKENS, Sampler, Stage

import aqua_kv
from aqua_kv import Code, ReplicaOwner, ReplicaReader, Replicator, SamplerState, WrittenTokens

WORKER = """
import sys
import replica_stage as t
import aqua_kv
from device import DEVICE

runtime = aqua_kv.Runtime.open(
    device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=sys.argv[1])
stage = t.Stage(runtime, sys.argv[2])
stage.replicate()
for sequence in (7, 8):                       # a prompt, then a token a step
    ids = [1000 * sequence + i for i in range(24)]
    for tokens in range(12, 25):
        first = 0 if tokens == 12 else tokens - 1
        stage.step(sequence, ids[:tokens], first, sampler=b"behind %d" % tokens)
    stage.hold(sequence, 24)
stage.compute(7, [1000 * 7 + i for i in range(30)], 24)  # not given to the replicator
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def stage(runtime, keeper):
    """With blocks of another size than the worker's."""
    return Stage(runtime, keeper.socket, 8)


def code_of(call, *arguments, **more):
    with pytest.raises(aqua_kv.Error) as raised:
        call(*arguments, **more)
    return raised.value.code


def test_another_worker_goes_on_with_the_sequences_of_one_that_is_killed(stage, keeper, tmp_path):
    path = os.pathsep.join([str(PACKAGE), str(Path(__file__).parent)])
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), keeper.socket],
        env=dict(os.environ, PYTHONPATH=path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stdout.readline() == "held\n"
        worker.send_signal(signal.SIGKILL)
    finally:
        worker.kill()
        worker.communicate()

    known = {7: [7000 + i for i in range(24)], 8: [8000 + i for i in range(21)]}  # the client's
    with stage.reader() as reader:
        assert reader.status().packs > 0 and reader.status().refused == 0
        assert reader.sequences() == [7, 8]
        assert reader.watermark(9, known[7], TOKENS) == 0
        assert {s: reader.watermark(s, ids, TOKENS) for s, ids in known.items()} == {7: 24, 8: 21}
        assert reader.sampler(7, known[7]) == SamplerState(24, b"behind 24")
        state = reader.sampler(8, known[8])  # None: packs were merged behind the 21st token
        assert state is None or (
            state.tokens <= 21 and state.state == b"behind %d" % state.tokens)
        assert reader.sampler(9, known[7]) is None
        stage.replicate(term=2)
        for sequence, ids in known.items():
            room = stage.blocks(sequence, 32)
            reader.restore(sequence, ids, len(ids), stage.layout, room).wait()
            assert stage.has(sequence, ids)
            assert not stage.has(sequence, [5, *ids[1:]])
            stage.replicator.adopt(reader, sequence)
        reader.finish()
        assert code_of(reader.restore, 7, known[7], 24, stage.layout, stage.blocks(7, 32)) is (
            Code.FAILED_PRECONDITION)
    assert {s: stage.replicator.watermark(s) for s in known} == {7: 24, 8: 21}
    assert stage.replicator.status().copied_bytes == 0 and stage.replicator.unprotected() == []

    # On from there, to a token of its own; then it is the one that has died.
    ids = [*known[8], 5]
    stage.step(8, ids, 21).wait()
    stage.hold(8, 22)
    stage.replicator.finish(7)
    stage.replicator.close()
    with stage.reader(term=3) as reader:
        assert reader.watermark(8, ids, TOKENS) == 22
        stage.compute(8, [1] * 22)
        reader.restore(8, ids, 22, stage.layout, stage.blocks(8, 32)).wait()
        assert stage.has(8, ids)


SAMPLING = """
import sys
import replica_stage as t
import aqua_kv
from device import DEVICE

runtime = aqua_kv.Runtime.open(
    device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=sys.argv[1])
stage, sampler = t.Stage(runtime, sys.argv[2]), t.Sampler()
stage.replicate(lag_tokens=16, pack_steps=4)
ids = list(range(12))
stage.step(7, ids, 0, sampler=sampler.state)
for _ in range(14):
    ids.append(sampler.draw())
    stage.step(7, ids, len(ids) - 1, sampler=sampler.state)
stage.hold(7, 26)
print(*ids, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("delivered", [26, 22])
def test_the_sampler_of_one_that_is_killed_draws_on(stage, keeper, tmp_path, delivered):
    path = os.pathsep.join([str(PACKAGE), str(Path(__file__).parent)])
    worker = subprocess.Popen(
        [sys.executable, "-c", SAMPLING, str(tmp_path), keeper.socket],
        env=dict(os.environ, PYTHONPATH=path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )
    try:
        ids = [int(one) for one in worker.stdout.readline().split()]
    finally:
        worker.kill()
        worker.communicate()
    alone, undisturbed = Sampler(), list(range(12))
    undisturbed += [alone.draw() for _ in range(28)]
    assert ids == undisturbed[:26]

    known = ids[:delivered]
    with stage.reader() as reader:
        told = reader.sampler(7, known)
        assert told is not None and 12 <= told.tokens <= delivered
        sampler = Sampler(told.state)
        # One that is some tokens back draws once more what the client has.
        assert [sampler.draw() for _ in known[told.tokens :]] == known[told.tokens :]
        reader.restore(7, known, delivered, stage.layout, stage.blocks(7, 48)).wait()
        stage.replicate(term=2)
        stage.replicator.adopt(reader, 7)
        reader.finish()
    while len(known) < 40:
        known.append(sampler.draw())
        stage.step(7, known, len(known) - 1, sampler=sampler.state)
    assert known == undisturbed and stage.has(7, known)


def test_of_one_that_is_sealed_nothing_is_committed_until_it_resumes(stage):
    replicator = stage.replicate()
    ids = list(range(30))
    stage.step(7, ids[:10])
    stage.hold(7, 10)
    replicator.seal()
    stage.step(7, ids, 10)
    replicator.flush()
    assert replicator.unprotected() == [7]
    status = replicator.status()
    assert status.connected and (status.unprotected, status.most_lag) == (1, 20)
    replicator.resume(5)
    stage.hold(7, 30)
    assert replicator.unprotected() == [] and replicator.status().steps_unprotected > 0
    assert code_of(stage.reader, 4) is Code.ABORTED


def test_lives_of_a_group_are_told_apart(stage):
    former, own = ReplicaOwner("decode", 1, life="a"), ReplicaOwner("decode", 1, life="b")
    ids = list(range(20))
    stage.replicate(owner=former, term=5)
    stage.step(7, ids)
    stage.hold(7, 20)
    stage.replicator.close()
    with stage.reader(6, former) as reader:
        reader.restore(7, ids, 20, stage.layout, stage.blocks(7, 24)).wait()
        stage.replicate(owner=own)
        stage.replicator.adopt(reader, 7)
    assert stage.replicator.watermark(7) == 0, "the packs of another life are not its replica"
    stage.hold(7, 20)
    with stage.reader(2, own) as reader:
        assert reader.watermark(7, ids, TOKENS) == 20 and reader.status().other_lives == 1
        reader.drop_other_lives()
        assert reader.status().other_lives == 0


def test_what_has_no_blocks_keeps_its_replica_and_what_has_ended_has_none(stage):
    replicator = stage.replicate()
    stage.step(7, list(range(10)))
    stage.hold(7, 10)
    replicator.without_blocks(7)
    replicator.poll()
    assert replicator.watermark(7) == 10
    replicator.finish(7)
    status = replicator.status()
    assert (status.sequences, status.packs_kept, status.kept_bytes) == (0, 0, 0)


def test_bad_input_is_refused_and_changes_nothing(runtime, keeper, stage):
    replicator = stage.replicate(term=2)
    ids = list(range(16))
    stage.step(7, ids)
    stage.hold(7, 16)
    blocks = stage.blocks(7, 16)
    good = {"sequence": 7, "blocks": blocks, "ids": [1], "first": 15}
    for wrong in (
        {"ids": []}, {"first": 17}, {"first": 16}, {"blocks": [1, 1]}, {"blocks": [99, 1]},
        {"blocks": []}, {"sampler": bytes(4097)},
    ):
        written = WrittenTokens(**{**good, **wrong})
        assert code_of(replicator.step, [written]) is Code.INVALID_ARGUMENT, wrong
    assert code_of(replicator.step, [WrittenTokens(**good)] * 2) is Code.INVALID_ARGUMENT
    for wrong, kind, match in (
        ({"sequence": -1}, ValueError, "sequence"), ({"ids": ["a"]}, TypeError, "ids"),
        ({"blocks": [0.5]}, TypeError, "blocks"), ({"first": -1}, ValueError, "first"),
    ):
        with pytest.raises(kind, match=match):
            replicator.step([WrittenTokens(**{**good, **wrong})])
    with stage.reader() as reader:
        restore = reader.restore
        assert code_of(restore, 7, ids, 17, stage.layout, blocks) is Code.INVALID_ARGUMENT
        assert code_of(restore, 7, ids, 16, stage.layout, [1]) is Code.INVALID_ARGUMENT
        assert code_of(restore, 8, ids, 1, stage.layout, blocks) is Code.INVALID_ARGUMENT
        assert code_of(replicator.adopt, reader, 7) is Code.NOT_FOUND
        reader.restore(7, [1], 0, stage.layout, [0])
        assert code_of(replicator.adopt, reader, 7) is Code.NOT_FOUND, "of no tokens"
        restore(7, ids, 16, stage.layout, blocks).wait()
        assert code_of(replicator.adopt, reader, 7) is Code.ALREADY_EXISTS
    with stage.reader(3) as reader:
        reader.restore(7, ids, 16, stage.layout, blocks).wait()
        assert code_of(replicator.adopt, reader, 7) is Code.FAILED_PRECONDITION, "of another term"
    assert replicator.watermark(7) == 16

    def create(owner=OWNER, shape=SHAPE, **more):
        options = {"term": 1, "keeper": keeper.socket, **more}
        return code_of(Replicator.create, runtime, stage.layout, owner, shape, **options)

    for wrong in (
        {"owner": ReplicaOwner("no.name")}, {"shape": "x" * 1025}, {"pack_steps": 0},
        {"pack_steps": 65}, {"pack_bytes": 100}, {"max_bytes": 1 << 20},
    ):
        assert create(**wrong) is Code.INVALID_ARGUMENT, wrong
    nobody = keeper.socket + ".none"
    assert create(keeper=nobody) is Code.UNAVAILABLE
    assert code_of(ReplicaReader.open, runtime, OWNER, SHAPE, term=2, keeper=nobody) is (
        Code.UNAVAILABLE)


def test_a_runtime_closes_with_them(tmp_path, keeper):
    runtime = aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=str(tmp_path)
    )
    stage = Stage(runtime, keeper.socket)
    replicator, reader = stage.replicate(), stage.reader()
    stage.step(7, [1, 2, 3])
    runtime.close()
    for call in (replicator.status, replicator.flush, reader.status, reader.finish):
        assert code_of(call) is Code.NOT_FOUND
    replicator.close()
    reader.close()


def test_a_runtime_that_closes_frees_no_list_that_is_being_read(runtime, stage, monkeypatch):
    within = ClosedWithin(monkeypatch, runtime, "aqua_replicator_unprotected", "replicators")
    replicator = stage.replicate()
    replicator.seal()
    stage.step(7, list(range(20)))
    assert replicator.unprotected() == [7]
    within.join()
    assert runtime.closed and not within.freed_within


def test_without_its_keeper_a_worker_goes_on_unprotected(stage, keeper):
    replicator = stage.replicate()
    keeper.process.kill()
    while replicator.status().connected:
        assert replicator.wait(60_000)
    stage.step(7, list(range(10)))
    assert replicator.unprotected() == [7] and replicator.status().error
    assert stage.has(7, list(range(10)))
    keeper.start()
    replicator.reconnect()
    stage.hold(7, 10)
    assert replicator.status().connected and not replicator.unprotected()


def test_its_status_is_written_as_metrics(stage):
    status = replace(
        stage.replicate().status(), connected=False, sequences=5, unprotected=2, most_lag=11,
        copied_bytes=100, rewritten_bytes=30, packs_committed=4, packs_failed=1,
        steps_unprotected=6, kept_bytes=80)
    assert aqua_kv.to_metrics(status) == (
        "# TYPE aqua_engine_replicas_connected gauge\n"
        "aqua_engine_replicas_connected 0\n"
        "# TYPE aqua_engine_replica_sequences gauge\n"
        'aqua_engine_replica_sequences{state="protected"} 3\n'
        'aqua_engine_replica_sequences{state="unprotected"} 2\n'
        "# TYPE aqua_engine_replica_lag_tokens gauge\n"
        "aqua_engine_replica_lag_tokens 11\n"
        "# TYPE aqua_engine_replica_steps_unprotected_total counter\n"
        "aqua_engine_replica_steps_unprotected_total 6\n"
        "# TYPE aqua_engine_replica_packs_total counter\n"
        'aqua_engine_replica_packs_total{outcome="committed"} 4\n'
        'aqua_engine_replica_packs_total{outcome="failed"} 1\n'
        "# TYPE aqua_engine_replica_copied_bytes_total counter\n"
        'aqua_engine_replica_copied_bytes_total{what="new"} 70\n'
        'aqua_engine_replica_copied_bytes_total{what="rewritten"} 30\n'
        "# TYPE aqua_engine_replica_kept_bytes gauge\n"
        "aqua_engine_replica_kept_bytes 80\n"
    )
