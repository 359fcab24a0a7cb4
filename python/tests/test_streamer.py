# SPDX-License-Identifier: Apache-2.0
"""Streams with a real keeper: from one rank to two, whose blocks have another size and another order,
and out of a process that is killed."""

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
from stream_ranks import (
    BLOCKS,
    DECODE,
    HEAD_BYTES,
    HEADS,
    LAYERS,
    PREFILL,
    TOKENS,
    Rank,
    until,
)

import aqua_kv
from aqua_kv import Code, CutOff, KvShape, Parallelism, StreamGroup, Streamer


@pytest.fixture
def prefill(runtime, keeper):
    return Rank(runtime, keeper.socket, PREFILL)


@pytest.fixture
def decode(runtime, keeper):
    return [Rank(runtime, keeper.socket, DECODE, rank, ready=0) for rank in range(2)]


def admit(decode, sequences=1):
    for rank in decode:
        rank.streamer.admit("prefill", sequences)


def test_from_one_rank_to_two_each_byte_is_where_it_belongs(prefill, decode):
    with prefill.begin(7) as out:
        assert not out.ready()
        with pytest.raises(aqua_kv.Error) as raised:
            out.layer(0)
        assert raised.value.code is Code.FAILED_PRECONDITION
        admit(decode)
        prefill.send(out, 5)
        until(prefill.streamer, out.copied)
        for layer in range(LAYERS):
            prefill.write(layer, 99)  # the blocks are others' by now
        assert prefill.streamer.status().giving == 2
        for rank in decode:
            arrived = rank.arrival()
            assert (arrived.sequence, arrived.attempt, arrived.tokens) == (7, 1, TOKENS)
            assert arrived.words == b"a\0b"
            assert not out.landed()
            incoming = rank.streamer.stream_in(7, rank.blocks)
            for layer in range(LAYERS):
                incoming.stream_wait(0, layer)
            assert rank.is_equal(5) and not rank.is_equal(6)
            incoming.wait()
            incoming.close()
        until(prefill.streamer, out.landed)
    for rank in decode:
        assert rank.streamer.status().taken == 1
        with pytest.raises(aqua_kv.Error) as raised:
            rank.streamer.finish(7, 2**64 - 1)  # no such stream
        assert raised.value.code is Code.INVALID_ARGUMENT
        assert rank.streamer.finish(7)
        assert not rank.streamer.finish(7)
        status = rank.streamer.status()
        assert status.connected and status.taken == 0 and status.refused == 0


def test_what_a_block_ends_without_finishing_is_taken_back(prefill, decode):
    admit(decode)
    with pytest.raises(KeyError), prefill.begin(7) as out:
        until(prefill.streamer, out.ready)
        out.layer(0)
        raise KeyError("the model failed")
    with prefill.begin(7) as again:
        with pytest.raises(aqua_kv.Error) as raised:
            until(prefill.streamer, again.ready)
        assert raised.value.code is Code.ABORTED
    with prefill.begin(7, attempt=2) as out:
        prefill.send(out, 3)
    for rank in decode:
        assert rank.arrival().attempt == 2
        rank.take(7)
        assert rank.is_equal(3)


def test_what_is_not_wanted_is_given_up(prefill, decode):
    admit(decode)
    with prefill.begin(7) as out:
        prefill.send(out, 3)
    for rank in decode:
        asked = []

        def wanted(sequence, asked=asked, rank=rank):
            with pytest.raises(aqua_kv.Error) as raised:
                rank.streamer.admit("prefill", 1)
            asked.append((sequence, raised.value.code))
            return False

        until(rank.streamer, lambda: rank.streamer.arrived(wanted) or asked)
        assert asked == [(7, Code.FAILED_PRECONDITION)]
        assert rank.streamer.arrived() == []
    with prefill.begin(8) as out:
        prefill.send(out, 4)
    for rank in decode:
        assert rank.arrival().sequence == 8


def test_what_wanted_raises_is_raised_and_loses_nothing(prefill, decode):
    admit(decode)
    with prefill.begin(7) as out:
        prefill.send(out, 3)

    def fails(sequence):
        raise KeyError(sequence)

    for rank in decode:
        with pytest.raises(KeyError):
            until(rank.streamer, lambda: rank.streamer.arrived(fails))
        assert [each.sequence for each in rank.streamer.arrived()] == [7]


def test_another_attempt_supersedes_what_has_arrived(prefill, decode):
    admit(decode)
    with prefill.begin(7) as out:
        prefill.send(out, 3)
    for rank in decode:
        assert rank.arrival().attempt == 1
    with prefill.begin(7, attempt=2) as out:
        for rank in decode:
            told = []
            until(rank.streamer, lambda: told.extend(rank.streamer.superseded()) or told)
            assert told == [7] and rank.streamer.finish(7)
        admit(decode)
        prefill.send(out, 4)
    for rank in decode:
        assert rank.arrival().attempt == 2
        rank.take(7)
        assert rank.is_equal(4)


def test_bad_input_is_refused_and_changes_nothing(runtime, keeper, prefill):
    def code_of(call, *arguments, **more):
        with pytest.raises(aqua_kv.Error) as raised:
            call(*arguments, **more)
        return raised.value.code

    out = prefill.streamer.stream_out
    assert code_of(out, 7, prefill.blocks, "nobody", tokens=TOKENS) is Code.NOT_FOUND
    for blocks, tokens, attempt in (
        (prefill.blocks, 0, 1), (prefill.blocks, 21, 1), (prefill.blocks, TOKENS, 0),
        ([1, 1, 2, 3, 4], TOKENS, 1), ([BLOCKS, 1, 2, 3, 4], TOKENS, 1), ([0] * 9, TOKENS, 1),
    ):
        refused = code_of(out, 7, blocks, "decode", tokens=tokens, attempt=attempt)
        assert refused is Code.INVALID_ARGUMENT, (blocks, tokens, attempt)
    assert code_of(prefill.streamer.admit, "nobody", 1) is Code.NOT_FOUND
    assert code_of(prefill.streamer.stream_in, 7, prefill.blocks) is Code.NOT_FOUND
    assert prefill.streamer.status().giving == 0
    with pytest.raises(ValueError, match="sequence"):
        out(-1, prefill.blocks, "decode", tokens=TOKENS)
    with pytest.raises(ValueError, match="tensor_ranks"):
        Parallelism(tensor_ranks=-1)._to_c()

    def open_with(group=PREFILL, rank=0, others=(DECODE,), **more):
        options = {"keeper": keeper.socket, "parcel_bytes": 64 << 10, **more}
        return code_of(
            Streamer.open, runtime, prefill.layout, "small", group, rank, others=others, **options
        )

    shape = PREFILL.shape
    for wrong in (
        {"rank": 1}, {"group": StreamGroup("a b", shape)}, {"others": (DECODE, DECODE)},
        {"group": StreamGroup("prefill", shape, Parallelism(stage_layers=(1, 2)))},
        {"group": StreamGroup("prefill", KvShape(3, HEADS, HEAD_BYTES, 4, format="stamps"))},
        {"group": DECODE, "others": (PREFILL,)}, {"parcel_bytes": 0},
    ):
        assert open_with(**wrong) is Code.INVALID_ARGUMENT, wrong
    other = StreamGroup("decode", KvShape(LAYERS, HEADS, HEAD_BYTES, 8, format="other"))
    assert open_with(others=(other,)) is Code.FAILED_PRECONDITION
    assert open_with(keeper=keeper.socket + ".none") is Code.UNAVAILABLE


def test_a_runtime_closes_with_its_streams(tmp_path, keeper):
    runtime = aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=str(tmp_path)
    )
    rank = Rank(runtime, keeper.socket, PREFILL)
    out = rank.begin(7)
    runtime.close()
    for call in (rank.streamer.status, rank.streamer.arrived, out.ready, out.cancel):
        with pytest.raises(aqua_kv.Error) as raised:
            call()
        assert raised.value.code is Code.NOT_FOUND
    out.close()
    rank.streamer.close()


SENDER = """
import sys
import stream_ranks as t
import aqua_kv
from device import DEVICE

runtime = aqua_kv.Runtime.open(
    device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=sys.argv[1])
prefill = t.Rank(runtime, sys.argv[2], t.PREFILL)
kept = prefill.begin(7)
prefill.send(kept, 5)
half = prefill.begin(8)
t.until(prefill.streamer, half.ready)
prefill.write(0, 6)
half.layer(0)
print("half", flush=True)
sys.stdin.read()
"""


def test_a_runtime_that_closes_frees_no_memory_below_a_call(runtime, keeper, monkeypatch):
    within = ClosedWithin(monkeypatch, runtime, "aqua_streamer_admit", "streamers")
    rank = Rank(runtime, keeper.socket, DECODE, ready=0)
    rank.streamer.admit("prefill", 1)
    within.join()
    assert runtime.closed and not within.freed_within


def test_what_was_kept_survives_a_sender_that_is_killed_and_half_a_sequence_does_not(
    decode, keeper, tmp_path
):
    admit(decode, 2)
    path = os.pathsep.join([str(PACKAGE), str(Path(__file__).parent)])
    sender = subprocess.Popen(
        [sys.executable, "-c", SENDER, str(tmp_path), keeper.socket],
        env=dict(os.environ, PYTHONPATH=path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert sender.stdout.readline() == "half\n"
        sender.send_signal(signal.SIGKILL)
    finally:
        sender.kill()
        sender.communicate()
    for rank in decode:
        while not (cut_off := rank.streamer.cut_off()):
            assert rank.streamer.wait(20000)
        assert cut_off == [CutOff(8, attempt=1)]
        assert rank.arrival().sequence == 7
        rank.take(7)
        assert rank.is_equal(5)
        assert rank.streamer.finish(7)
        with pytest.raises(aqua_kv.Error) as raised:
            rank.streamer.stream_in(8, rank.blocks)
        assert raised.value.code is Code.NOT_FOUND
    # Another one of its rank streams it again.
    again = Rank(decode[0].runtime, keeper.socket, PREFILL)
    with again.begin(8, attempt=2) as out:
        again.send(out, 9)
    for rank in decode:
        assert rank.arrival().attempt == 2
        rank.take(8)
        assert rank.is_equal(9)


def test_without_its_keeper_it_says_so(prefill, keeper):
    keeper.process.kill()
    until(prefill.streamer, lambda: not prefill.streamer.status().connected)
    assert prefill.streamer.status().keeper_error
    with pytest.raises(aqua_kv.Error) as raised:  # by whichever of its two connections ends last
        until(prefill.streamer, prefill.begin(7).ready)
    assert raised.value.code is Code.UNAVAILABLE


def test_its_status_is_written_as_metrics(prefill):
    status = replace(prefill.streamer.status(), refused=1, arrived=2, cut_off=3)
    assert aqua_kv.to_metrics(status) == (
        "# TYPE aqua_engine_streams_total counter\n"
        'aqua_engine_streams_total{what="arrived"} 2\n'
        'aqua_engine_streams_total{what="cut_off"} 3\n'
        "# TYPE aqua_engine_stream_parcels_refused_total counter\n"
        "aqua_engine_stream_parcels_refused_total 1\n"
    )


def test_so_is_a_layer_pools():
    status = aqua_kv.LayerPoolStatus(
        frames=3, usable_blocks=32, streamed_layers=2, proposed_frames=0, steps=7,
        fetched_bytes=5_000_000_000, written_bytes=1, away_bytes=30, away_peer_bytes=20, resizes=2,
        compute_seconds=4.5, stall_seconds=0.25, fetch_seconds=0, write_seconds=0, reason="",
    )
    text = aqua_kv.to_metrics(status)
    assert text.startswith(
        "# TYPE aqua_engine_layer_frames gauge\naqua_engine_layer_frames 3\n"
    )
    for line in (
        'aqua_engine_layer_away_bytes{tier="host"} 10', "aqua_engine_layer_steps_total 7",
        'aqua_engine_layer_copied_bytes_total{way="in"} 5000000000',
        'aqua_engine_layer_seconds_total{of="stall"} 0.25',
    ):
        assert line in text.splitlines()
    assert "proposed" not in text, "there is no goal"
    text = aqua_kv.to_metrics(replace(status, proposed_frames=4, reason="wanted"))
    assert 'aqua_engine_layer_frames_reason{reason="wanted"} 1' in text.splitlines()
    assert "aqua_engine_layer_frames_proposed 4" in text.splitlines()
