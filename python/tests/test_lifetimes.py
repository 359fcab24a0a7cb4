# SPDX-License-Identifier: Apache-2.0
"""Use after close, collection in any order, threads, forks, the end of the interpreter."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest
from conftest import MIB, run_python, until
from kv_cache import KvCache

import aqua_kv
from aqua_kv import Code, Error, emulated


def code_of(call) -> Code:
    with pytest.raises(Error) as raised:
        call()
    return raised.value.code


def test_what_is_closed_answers_not_found(runtime):
    cache = KvCache(runtime)
    layout, tensor = cache.layout(), runtime.allocate(1 << 20)
    pin = tensor.pin()
    ticket = runtime.offload(layout, [1], tensor)
    for closed in (pin, tensor, layout, ticket, cache.memory):
        assert not closed.closed
        closed.close()
        closed.close()
        assert closed.closed
    for call in (
        lambda: tensor.tier, tensor.pin, lambda: tensor.name, lambda: pin.tier, ticket.done,
        ticket.wait, lambda: layout.packed_bytes(1), lambda: runtime.offload(layout, [1], tensor),
    ):
        assert code_of(call) is Code.NOT_FOUND


def test_a_closed_runtime_closes_what_belongs_to_it(tmp_path):
    with aqua_kv.Runtime.open(
        device="emu:0", host_bytes=8 * MIB, socket_directory=str(tmp_path)
    ) as runtime:
        cache = KvCache(runtime)
        layout, tensor = cache.layout(), runtime.allocate(1 << 20)
        pin = tensor.pin()
        pool = aqua_kv.ElasticPool.create(runtime, planes=2, plane_bytes=4 * MIB)
        stream = emulated.create_stream(runtime)
        ticket = runtime.offload(layout, [1, 2], tensor, stream)
        assert not runtime.closed
    assert runtime.closed
    for call in (runtime.tick, runtime.status, lambda: tensor.tier, lambda: pin.tier,
                 lambda: pool.planes, lambda: runtime.allocate(1)):
        assert code_of(call) is Code.NOT_FOUND
    assert ticket.done()  # may be asked: its transfer is over
    assert layout.layers == 2  # belongs to no runtime
    for late in (pin, tensor, pool, stream, cache.memory, runtime):
        late.close()


def test_an_exception_in_a_with_block_is_the_one_that_comes_out(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with aqua_kv.Runtime.open(
            device="emu:0", host_bytes=2 * MIB, socket_directory=str(tmp_path)
        ) as runtime:
            held = runtime.allocate(4096).pin()
            assert held.bytes == 4096
            1 / 0


def test_dropped_objects_give_everything_back(runtime):
    pins = []

    def there_is_room() -> bool:
        try:
            pins.append(runtime.allocate(20 * MIB).pin())  # two would not fit
        except aqua_kv.Error as error:
            assert error.code is Code.RESOURCE_EXHAUSTED
            return False
        return True

    for _ in range(3):
        # A tensor's memory is there again once its stream has passed its last use.
        until(there_is_room, "given back")
        assert pins[0].tier is aqua_kv.Tier.HOST  # a pin keeps its tensor
        pins.clear()
    until(lambda: runtime.status().host.tensors == 0, "forgotten")


def test_cycles_are_collected_in_any_order(tmp_path):
    class Engine:
        def __init__(self) -> None:
            self.runtime = aqua_kv.Runtime.open(
                device="emu:0", host_bytes=4 * MIB, socket_directory=str(tmp_path)
            )
            self.tensor = self.runtime.allocate(4096)
            self.pin = self.tensor.pin()
            self.cache = KvCache(self.runtime)
            self.ticket = self.runtime.offload(self.cache.layout(), [1], self.runtime.allocate(1 << 16))
            self.myself = self

    for _ in range(5):
        seen = weakref.ref(Engine())
        gc.collect()
        assert seen() is None
    assert not __import__("aqua_kv._state")._state._open


def test_two_threads_that_close_the_same_things(runtime):
    for _ in range(50):
        tensor = runtime.allocate(4096)
        pin = tensor.pin()
        start = threading.Barrier(2)

        def close() -> None:
            start.wait()
            pin.close()
            tensor.close()

        threads = [threading.Thread(target=close) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    until(lambda: runtime.status().host.tensors == 0, "given back")


def test_callers_of_a_runtime_that_is_being_closed_get_an_answer(tmp_path):
    runtime = aqua_kv.Runtime.open(
        device="emu:0", host_bytes=4 * MIB, socket_directory=str(tmp_path)
    )
    tensor = runtime.allocate(4096)
    calling, codes = threading.Event(), []

    def call() -> None:
        while True:
            try:
                tensor.pin().close()
            except Error as error:
                codes.append(error.code)
                return
            calling.set()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    calling.wait()
    while not runtime.closed:
        try:
            runtime.close()
        except Error as error:  # a pin was taken between freeing the last and closing
            assert error.code is Code.FAILED_PRECONDITION
    for thread in threads:
        thread.join()
    assert codes == [Code.NOT_FOUND] * 3


def test_memory_is_freed_after_the_work_on_it(runtime):
    cache = KvCache(runtime)
    opened = threading.Event()
    tensor = runtime.allocate(1 << 20)
    emulated.launch(runtime, lambda: opened.wait(60) and None)
    ticket = runtime.offload(cache.layout(), range(32), tensor)
    threading.Thread(target=opened.set).start()
    del cache
    gc.collect()
    ticket.wait()


def test_nothing_of_the_parent_works_in_a_child_and_a_child_opens_its_own(runtime, tmp_path):
    tensor = runtime.allocate(4096)
    pin = tensor.pin()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            codes = []
            for call in (runtime.tick, lambda: tensor.tier, tensor.pin, pin.close, tensor.close,
                         runtime.close, lambda: runtime.allocate(1)):
                try:
                    call()
                except Error as error:
                    codes.append(error.code)
            own = aqua_kv.Runtime.open(
                device="emu:3", host_bytes=2 * MIB, socket_directory=str(tmp_path)
            )
            with own, own.allocate(4096) as made, made.pin() as held:
                good = held.bytes == 4096
            status = 0 if good and codes == [Code.FAILED_PRECONDITION] * 7 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert pin.tier is aqua_kv.Tier.HOST and tensor.tier is aqua_kv.Tier.HOST


EXIT = """
import os, sys, threading
import aqua_kv
from aqua_kv import emulated
callbacks = aqua_kv.Callbacks(on_budget=lambda budget: None, on_log=lambda level, text: None)
runtime = aqua_kv.Runtime.open(host_bytes=4 << 20, socket_directory=sys.argv[1],
                               device="emu:0", callbacks=callbacks)
memory = emulated.allocate(runtime, 1 << 20)
layout = aqua_kv.Layout.from_arrays([memory.array((16, 4096))])
tensor = runtime.allocate(layout.packed_bytes(16))
pin = tensor.pin()
pool = aqua_kv.ElasticPool.create(runtime, planes=1, plane_bytes=2 << 20)
ticket = runtime.offload(layout, range(16), tensor)
emulated.launch(runtime, lambda: None)
how = sys.argv[2]
if how == "fork":
    child = os.fork()
    if child == 0:
        sys.exit(0)  # runs the child's own end of the interpreter
    assert os.waitpid(child, 0)[1] == 0
if how == "exit":
    sys.exit(0)
if how == "raise":
    raise SystemExit(0)
if how == "thread":
    def spin():
        while True:
            try:
                runtime.tick()
            except aqua_kv.Error:
                pass
    threading.Thread(target=spin, daemon=True).start()
"""


@pytest.mark.parametrize("how", ["fall off", "exit", "raise", "fork", "thread"])
def test_the_interpreter_ends_with_everything_open(how, tmp_path):
    ended = run_python(EXIT, str(tmp_path), how)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_kernel_that_drops_memory_does_not_wait_for_itself(runtime):
    memory = [emulated.allocate(runtime, 1 << 20), emulated.allocate(runtime, 1 << 20)]
    emulated.launch(runtime, lambda: memory.pop().close())
    emulated.launch(runtime, memory.clear)
    emulated.synchronize(runtime)
    assert memory == []  # its runtime frees both


def test_a_pool_is_freed_after_the_work_on_it(runtime):
    pool = aqua_kv.ElasticPool.create(runtime, planes=1, plane_bytes=2 * MIB)
    layout = aqua_kv.Layout.from_arrays([pool.plane(0).array((64, 4096))])
    tensor = runtime.allocate(layout.packed_bytes(64))
    opened = threading.Event()
    emulated.launch(runtime, lambda: opened.wait(60) and None)
    ticket = runtime.offload(layout, range(64), tensor)
    threading.Thread(target=opened.set).start()
    pool.close()
    assert ticket.done()
