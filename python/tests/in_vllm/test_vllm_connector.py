# SPDX-License-Identifier: Apache-2.0
"""AquaConnector between two engines, as processes: bytes compared, one killed in mid-prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from conftest import HERE, PACKAGE
from vllm_streams import LAYERS, Engine, output_of, request_of

from aqua_kv.vllm.stream_options import StreamOptions


class Process:
    def __init__(self, role, keeper, directory, patience):
        directory.mkdir(exist_ok=True)
        path = os.pathsep.join(map(str, (PACKAGE, HERE / "in_vllm", HERE / "in_vllm/standin")))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "in_vllm/vllm_streams.py"), role, keeper, str(directory),
             str(patience)],
            env=dict(os.environ, PYTHONPATH=path), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, **told):
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the engine died"
        return json.loads(line)

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(keeper, tmp_path):
    """start(role, patience): an engine as a process."""
    started = []

    def begin(role, patience=60):
        started.append(Process(role, keeper.socket, tmp_path / str(len(started)), patience))
        return started[-1]

    yield begin
    for each in started:
        each.kill()


@pytest.mark.parametrize("chunks", [1, 3])
def test_prompts_go_from_one_engine_to_another_of_another_shape(start, chunks):
    prefill, decode = start("kv_producer"), start("kv_consumer")
    for prompt in range(4):
        name, tokens = f"r{prompt}", 21 + prompt
        blocks = [(5 * i + prompt) % 16 for i in range(6)]
        keep, params = prefill.ask(
            do="prefill", name=name, prompt=prompt, tokens=tokens, blocks=blocks, chunks=chunks)
        assert keep and params["aqua_tokens"] == tokens
        into = [(3 * i + prompt) % 16 for i in range(3)]
        came = decode.ask(
            do="decode", name=name, prompt=prompt, tokens=tokens, blocks=into, params=params)
        assert came == {"errors": [], "wrong": [0, 0]}


def test_room_is_asked_for_with_a_prompts_first_tokens(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path), sequences=1)
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    request = request_of("a", 20, {"do_remote_decode": True})
    prefill.scheduler.update_state_after_alloc(request, None, 0)
    prefill.step(output_of(
        scheduled_new_reqs=[SimpleNamespace(req_id="a", block_ids=([0, 1],), num_computed_tokens=0)],
        num_scheduled_tokens={"a": 8}))
    prefill.until_streaming("a")  # there is room, and twelve tokens are still to be computed
    assert prefill.scheduler.request_finished(request, [0, 1]) == (False, None), "its client is gone"
    prefill.step(output_of())
    keep, params = prefill.prefill("b", 3, 20, [0, 1, 2, 3, 4], chunks=2)
    assert keep
    prefill.sent("b")  # in the room of the other one
    assert decode.decode("b", 20, [7, 8, 9], params) == []
    assert [worker.wrong([7, 8, 9], 20, 3) for worker in decode.workers] == [0, 0]
    prefill.close()
    decode.close()


def test_latents_go_whole_to_every_rank(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path), latents=True)
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path), latents=True)
    keep, params = prefill.prefill("a", 3, 20, [0, 1, 2, 3, 4])
    assert keep
    prefill.sent("a")
    assert decode.decode("a", 20, [7, 8, 9], params) == []
    assert [worker.wrong([7, 8, 9], 20, 3) for worker in decode.workers] == [0, 0]
    prefill.close()
    decode.close()


def test_of_an_engine_that_is_killed_in_mid_prompt_no_block_is_taken_for_loaded(start):
    prefill, decode = start("kv_producer"), start("kv_consumer", patience=3600)
    keep, params = prefill.ask(
        do="prefill", name="a", prompt=1, tokens=20, blocks=[0, 1, 2, 3, 4], layers=1)
    assert keep
    prefill.kill()
    came = decode.ask(do="decode", name="a", prompt=1, tokens=20, blocks=[7, 8, 9], params=params)
    assert came["errors"] == [7, 8, 9] and min(came["wrong"]) > 0
    # Its successor sends, and there is room.
    again = start("kv_producer")
    for prompt in range(9):  # more than there is room for at once
        _, params = again.ask(
            do="prefill", name=f"b{prompt}", prompt=prompt, tokens=20, blocks=[0, 1, 2, 3, 4])
        came = decode.ask(
            do="decode", name=f"b{prompt}", prompt=prompt, tokens=20, blocks=[7, 8, 9],
            params=params)
        assert came == {"errors": [], "wrong": [0, 0]}


def test_without_the_keeper_blocks_are_load_errors_at_once(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    keeper.process.kill()
    params = {"do_remote_prefill": True, "aqua_sequence": 7, "aqua_tokens": 20}
    assert decode.decode("a", 20, [1, 2, 3], params) == [1, 2, 3]
    decode.close()


def test_engines_go_on_with_the_next_keeper(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    gone = []
    for name in ("a", "b"):
        _, params = prefill.prefill(name, 1, 20, [0, 1, 2, 3, 4])
        prefill.sent(name)
        gone.append(params)
    decode.until_arrived(params["aqua_sequence"])
    keeper.process.kill()
    keeper.process.wait()
    assert decode.decode("a", 20, [1, 2, 3], gone[0]) == [], "it had come, and is mapped"
    assert [worker.wrong([1, 2, 3], 20, 1) for worker in decode.workers] == [0, 0]
    keeper.start()
    for engine in (prefill, decode):
        engine.until_attached()
    assert decode.decode("b", 20, [1, 2, 3], gone[1]) == [1, 2, 3], "what is not read by then is gone"
    _, params = prefill.prefill("c", 3, 20, [0, 1, 2, 3, 4])
    prefill.sent("c")
    assert decode.decode("c", 20, [7, 8, 9], params) == []
    assert [worker.wrong([7, 8, 9], 20, 3) for worker in decode.workers] == [0, 0]
    prefill.close()
    decode.close()


def test_a_prompt_that_finds_no_room_in_time_gives_its_blocks_back(keeper, tmp_path):
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path), patience_s=1)
    keep, _ = prefill.prefill("a", 1, 20, [0, 1, 2, 3, 4])
    assert keep
    prefill.sent("a")  # nobody is there to take it
    prefill.close()


def test_what_is_not_wanted_has_its_room_for_another(keeper, tmp_path):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path), sequences=1)
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    _, params = prefill.prefill("a", 1, 20, [0, 1, 2, 3, 4])
    prefill.sent("a")  # in the only room there is
    # A part of its prompt is cached there, so that all is computed there.
    request = request_of("a", 20, params)
    assert decode.scheduler.get_num_new_matched_tokens(request, 8) == (0, False)
    decode.scheduler.update_state_after_alloc(request, None, 0)
    decode.step(output_of())
    _, params = prefill.prefill("b", 2, 20, [0, 1, 2, 3, 4])
    prefill.sent(
        "b", lambda: [worker.connector.get_finished(set()) for worker in decode.workers])
    assert decode.decode("b", 20, [4, 5, 6], params) == []
    assert [worker.wrong([4, 5, 6], 20, 2) for worker in decode.workers] == [0, 0]
    prefill.close()
    decode.close()


def begin(prefill, name, tokens, blocks):
    """A step that computes a prompt, up to its forward: the request, and the only worker, which has
    room for it at the other end."""
    request = request_of(name, tokens, {"do_remote_decode": True})
    prefill.scheduler.update_state_after_alloc(request, None, 0)
    meta = prefill.scheduler.build_connector_meta(output_of(
        num_scheduled_tokens={name: tokens},
        scheduled_new_reqs=[SimpleNamespace(
            req_id=name, block_ids=(blocks,), num_computed_tokens=0)]))
    [worker] = prefill.workers
    worker.connector.handle_preemptions(meta)
    worker.connector.bind_connector_metadata(meta)
    while not worker.connector._sender._outgoing[name].out.ready():
        assert worker.connector._attachment.streamer.wait(60_000), "no room"
    return request, worker


@pytest.mark.parametrize("in_parts", [False, True])
def test_no_layer_is_streamed_before_all_of_it_is_computed(keeper, tmp_path, in_parts):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path), in_parts=in_parts)
    blocks = [0, 1, 2, 3, 4]
    request, worker = begin(prefill, "a", 20, blocks)
    connector, last = worker.connector, LAYERS - 1
    if in_parts:  # what has none of the prompt's tokens
        for name in worker.names:
            connector.save_kv_layer(name, None, None)
    for layer in range(last):
        worker.put(layer, blocks, 20, 1)
        connector.save_kv_layer(worker.names[layer], None, None)
    connector.start_load_kv(None)
    assert connector.get_finished(set()) == (None, None)
    worker.put(last, blocks, 20, 1)  # a draft model's, which comes after that
    connector.save_kv_layer(worker.names[last], None, None)
    connector.wait_for_save()
    connector.clear_connector_metadata()
    _, params = prefill.scheduler.request_finished(request, blocks)
    prefill.sent("a")
    assert decode.decode("a", 20, [4, 5, 6], params) == []
    assert [each.wrong([4, 5, 6], 20, 1) for each in decode.workers] == [0, 0]
    prefill.close()
    decode.close()


def test_a_prompt_that_two_requests_ask_for_is_the_first_ones_and_the_others_compute_it(
    keeper, tmp_path
):
    decode = Engine("kv_consumer", keeper.socket, str(tmp_path))
    prefill = Engine("kv_producer", keeper.socket, str(tmp_path))
    _, params = prefill.prefill("a", 1, 20, [0, 1, 2, 3, 4])
    prefill.sent("a")
    for name, blocks in (("a", [1, 2, 3]), ("b", [4, 5, 6])):
        request = request_of(name, 20, dict(params))
        assert decode.scheduler.get_num_new_matched_tokens(request, 0) == (20, True)
        allocated = SimpleNamespace(get_block_ids=lambda blocks=blocks: (blocks,))
        decode.scheduler.update_state_after_alloc(request, allocated, 20)
    decode.scheduler.request_finished(request_of("ended", 20, dict(params)), [])
    decode.step(output_of())
    for worker in decode.workers:
        told, errors = [], set()
        end = time.monotonic() + 60
        while sorted(told) != ["a", "b"]:
            assert time.monotonic() < end, told
            told += worker.connector.get_finished(set())[1] or ()
            errors |= worker.connector.get_block_ids_with_load_errors()
        assert errors == {4, 5, 6} and worker.wrong([1, 2, 3], 20, 1) == 0
    prefill.close()
    decode.close()


@pytest.mark.parametrize(
    "aqua, message",
    [
        (None, "not a mapping"), ({}, "name must be given"), ({"name": "m"}, "peer must be given"),
        ({"name": "m", "peer": 3}, "not a mapping"),
        ({"name": "m", "peer": {"tensor_parallel_size": 2}}, "block_size must be given"),
        ({"name": "m", "peer": {"block_size": "4"}}, "not a number"),
        ({"name": "m", "peer": {"block_size": 4, "ranks": 2}}, "no option 'ranks'"),
        ({"name": "m", "peer": {"block_size": 4, "stage_layers": 2}}, "not a list"),
        ({"name": 3, "peer": {"block_size": 4}}, "not str"),
        ({"name": "m", "peer": {"block_size": 4}, "patience_s": 0}, "more than 0"),
        ({"name": "m", "peer": {"block_size": 4}, "ready": True}, "not a number"),
    ],
)
def test_options_that_cannot_be_are_named(aqua, message):
    with pytest.raises(ValueError, match=message):
        StreamOptions.parse({"aqua": aqua} if aqua is not None else {})


def test_a_connector_of_another_role_of_several_groups_or_of_tokens_in_parts_is_refused(keeper, tmp_path):
    from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole

    from aqua_kv.vllm.connector import AquaConnector

    config = SimpleNamespace(
        kv_transfer_config=SimpleNamespace(kv_role="kv_both", kv_connector_extra_config={}),
        cache_config=SimpleNamespace(block_size=4),
        parallel_config=SimpleNamespace(
            use_ubatching=False, data_parallel_size=2, prefill_context_parallel_size=1,
            decode_context_parallel_size=1))
    with pytest.raises(ValueError, match="kv_both"):
        AquaConnector(config, KVConnectorRole.SCHEDULER, SimpleNamespace(kv_cache_groups=[None]))
    config.kv_transfer_config.kv_role = "kv_producer"
    with pytest.raises(ValueError, match="2 groups"):
        AquaConnector(config, KVConnectorRole.SCHEDULER, SimpleNamespace(kv_cache_groups=[1, 2]))
    one = SimpleNamespace(kv_cache_groups=[None])
    for size in ("prefill_context_parallel_size", "decode_context_parallel_size"):
        setattr(config.parallel_config, size, 2)
        with pytest.raises(ValueError, match=f"{size} is 2"):
            AquaConnector(config, KVConnectorRole.SCHEDULER, one)
        setattr(config.parallel_config, size, 1)
    config.kv_transfer_config.kv_role = "kv_consumer"
    with pytest.raises(ValueError, match="data_parallel_size is 2"):
        AquaConnector(config, KVConnectorRole.SCHEDULER, one)
