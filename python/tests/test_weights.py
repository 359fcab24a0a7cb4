# SPDX-License-Identifier: Apache-2.0
"""Shared weights with a real keeper: published from arrays, read where they lie."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from device import DEVICE

import aqua_kv
from aqua_kv import Code, Error, NewWeight, SharedWeights, _dlpack, emulated, publish_weights

A = np.arange(32 * 64, dtype=np.float16).reshape(32, 64)
B = np.array([3, 1, 2], dtype=np.float32)


def publish(runtime, keeper, version="1", a=A, **more):
    weights = [NewWeight("a", "F16", a), NewWeight("b", "F32", B)]
    publish_weights(runtime, "small", version, weights, keeper=keeper.socket, **more)


def read(runtime, tensor, dtype):
    out = np.empty(tensor.bytes // np.dtype(dtype).itemsize, dtype)
    emulated.read(runtime, tensor, out)
    return out.reshape(tensor.shape)


def test_what_one_publishes_another_reads_in_place(runtime, keeper):
    publish(runtime, keeper)
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        assert list(weights) == ["a", "b"] and len(weights) == 2
        assert runtime.budget().shared_bytes == weights.bytes
        assert weights.version == "1" and weights.bytes == 2 << 20
        assert weights.enforced == DEVICE.startswith("emu:")  # CUDA has no seal
        a = weights["a"]
        assert (a.type, a.shape, a.strides, a.block_bytes) == ("F16", (32, 64), (128, 2), 2)
        assert (read(runtime, a, np.float16) == A).all()
        assert (read(runtime, weights["b"], np.float32) == B).all()
        weights.verify()


def test_an_array_over_it_is_read_only(runtime, keeper):
    publish(runtime, keeper)
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        values = weights["a"].values()
        interface = values.__cuda_array_interface__
        assert interface["data"] == (weights["a"].data, True)
        assert interface["shape"] == (32, 64) and interface["typestr"] == "<f2"
        with pytest.raises(ValueError, match="read-only"):
            emulated.write(runtime, values, A)


def test_dlpack_says_that_it_is_read_only(runtime, keeper):
    publish(runtime, keeper)
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        values = weights["a"].values()
        told = _dlpack.describe(values)
        assert told.read_only and told.address == weights["a"].data
        assert (told.shape, told.strides, told.item_bytes) == ((32, 64), (128, 2), 2)
        device = values.__dlpack_device__()
        assert device[0] == told.device_type
        if DEVICE.startswith("emu:"):
            assert device == (_dlpack.CPU, 0)
            assert ctypes.string_at(told.address, A.nbytes) == A.tobytes()
        as_bytes = _dlpack.describe(weights["b"])
        assert as_bytes.read_only and (as_bytes.shape, as_bytes.item_bytes) == ((12,), 1)
        for asked in (
            {}, {"max_version": (0, 8)}, {"max_version": (1, 0), "copy": True},
            {"max_version": (1, 0), "dl_device": (99, 0)},
        ):  # fmt: skip
            with pytest.raises(BufferError):
                values.__dlpack__(**asked)
        assert values.__dlpack__(stream=-1, max_version=(1, 1), dl_device=device, copy=False)
        odd = weights["a"].array((4,), "<f2", strides=(3,))
        with pytest.raises(BufferError, match="strides"):
            odd.__dlpack__(max_version=(1, 0))


def test_numpy_takes_it_by_dlpack_and_cannot_write_it(runtime, keeper):
    if not DEVICE.startswith("emu:"):
        pytest.skip("NumPy reads host memory")
    publish(runtime, keeper)
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        if np.lib.NumpyVersion(np.__version__) < "2.1.0":  # knows no version 1.0, and is refused
            with pytest.raises(BufferError, match="DLPack 1.0"):
                np.from_dlpack(weights["a"].values())
            return
        array = np.from_dlpack(weights["a"].values())
        assert (array == A).all() and array.dtype == A.dtype
        assert not array.flags.writeable
        del array
        _dlpack.drop_unused()
        assert not _dlpack._given


def test_what_numpy_cannot_read_is_refused_and_freed(runtime, keeper):
    if not DEVICE.startswith("emu:"):
        pytest.skip("NumPy reads host memory")
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy knows no DLPack 1.0")
    brain = NewWeight("w", "BF16", np.zeros((4, 8), np.uint16))
    publish_weights(runtime, "brain", "1", [brain], keeper=keeper.socket)
    with SharedWeights.attach(runtime, "brain", keeper=keeper.socket) as weights:
        with pytest.raises((BufferError, RuntimeError), match="[Uu]nsupported dtype"):
            np.from_dlpack(weights["w"].values())
        _dlpack.drop_unused()
        assert not _dlpack._given


def test_a_capsule_keeps_the_weights_until_whoever_took_it_lets_go(runtime, keeper):
    brain = NewWeight("w", "BF16", np.zeros((4, 8), np.uint16))
    publish_weights(runtime, "brain", "1", [brain], keeper=keeper.socket)
    with SharedWeights.attach(runtime, "brain", keeper=keeper.socket) as weights:
        capsule = weights["w"].values().__dlpack__(max_version=(1, 0))
        assert len(_dlpack._given) == 1
        _dlpack.drop_unused()
        assert len(_dlpack._given) == 1, "somebody has it, and may take it over"
        del capsule  # nobody took it over
        _dlpack.drop_unused()
        assert not _dlpack._given
        capsule = weights["w"].values().__dlpack__(max_version=(1, 0))
        at = _dlpack._get_pointer(capsule, b"dltensor_versioned")
        struct = _dlpack._Versioned.from_address(at)
        tensor = struct.tensor
        assert (tensor.type_code, tensor.type_bits, tensor.type_lanes) == (4, 16, 1)  # bfloat16
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        used = b"used_dltensor_versioned"
        assert rename(capsule, used) == 0
        del capsule
        _dlpack.drop_unused()
        assert len(_dlpack._given) == 1, "it is its taker's, who reads it on"
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(struct.deleter)(at)
        assert not _dlpack._given


def test_from_the_device_and_in_blocks(runtime, keeper):
    memory = emulated.allocate(runtime, 2 << 20)
    packed = np.arange(18 * 4, dtype=np.uint8)
    emulated.write(runtime, memory, packed)
    emulated.synchronize(runtime)
    q = NewWeight("q", "Q4_0", memory.array((72,)), shape=(2, 64), block_elements=32, block_bytes=18)
    publish_weights(runtime, "packed", "1", [q], keeper=keeper.socket)
    with SharedWeights.attach(runtime, "packed", keeper=keeper.socket) as weights:
        tensor = weights["q"]
        assert (tensor.shape, tensor.strides, tensor.bytes) == ((2, 64), (36, 18), 72)
        out = np.empty(72, np.uint8)
        emulated.read(runtime, tensor, out)
        assert (out == packed).all()
        with pytest.raises(TypeError, match="Q4_0"):
            tensor.values()


def test_resuming_maps_the_newest_at_the_same_address(runtime, keeper):
    publish(runtime, keeper)
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        before = weights["a"].data
        weights.suspend()
        publish(runtime, keeper, "2", A * 2)
        weights.resume()
        assert weights.version == "2" and weights["a"].data == before
        assert (read(runtime, weights["a"], np.float16) == A * 2).all()


def test_errors_name_what_is_missing(runtime, keeper):
    with pytest.raises(aqua_kv.Error) as raised:
        SharedWeights.attach(runtime, "small", keeper=keeper.socket)
    assert raised.value.code is Code.NOT_FOUND
    publish(runtime, keeper)
    with pytest.raises(aqua_kv.Error) as raised:
        publish(runtime, keeper)
    assert raised.value.code is Code.ALREADY_EXISTS
    with SharedWeights.attach(runtime, "small", keeper=keeper.socket) as weights:
        with pytest.raises(KeyError, match="c"):
            weights["c"]
    with pytest.raises(aqua_kv.Error) as raised:
        len(weights)
    assert raised.value.code is Code.NOT_FOUND
    with pytest.raises(aqua_kv.Error) as raised:
        SharedWeights.attach(runtime, "small", keeper="/nowhere/keeper.sock")
    assert raised.value.code is Code.UNAVAILABLE
    with pytest.raises(ValueError, match="not contiguous"):
        publish(runtime, keeper, "3", A.T)
    with pytest.raises(ValueError, match="axes"):
        wide = NewWeight("w", "U8", np.zeros((1,) * 9, np.uint8))
        publish_weights(runtime, "wide", "1", [wide], keeper=keeper.socket)


def test_what_another_is_publishing_is_waited_for(runtime, keeper):
    from aqua_kv.weights import claim_weights

    with pytest.raises(aqua_kv.Error) as nobody:
        SharedWeights.attach(runtime, "small", keeper=keeper.socket, patience_ms=3_600_000)
    assert nobody.value.code is Code.NOT_FOUND, "nobody publishes it"
    claim = claim_weights(runtime, "small", "1", keeper=keeper.socket)
    for patience_ms in (1, 700):  # in one part, and in two
        with pytest.raises(aqua_kv.Error, match="still being published") as late:
            SharedWeights.attach(runtime, "small", keeper=keeper.socket, patience_ms=patience_ms)
        assert late.value.code is Code.DEADLINE_EXCEEDED
    gone = threading.Timer(0.6, claim.close)
    gone.start()
    with pytest.raises(aqua_kv.Error) as gone_by:
        SharedWeights.attach(runtime, "small", keeper=keeper.socket, patience_ms=3_600_000)
    assert gone_by.value.code is Code.NOT_FOUND, "its publisher has gone"
    gone.join()


def test_a_runtime_closes_with_its_weights(tmp_path, keeper):
    runtime = aqua_kv.Runtime.open(
        device=DEVICE, coordinator="none", host_bytes=32 << 20, socket_directory=str(tmp_path)
    )
    publish(runtime, keeper)
    weights = SharedWeights.attach(runtime, "small", keeper=keeper.socket)
    runtime.close()
    with pytest.raises(aqua_kv.Error):
        len(weights)
    with pytest.raises(aqua_kv.Error):  # it is not the tensor that is missing
        weights["a"]


def test_who_reads_weights_while_their_runtime_closes_gets_an_answer(tmp_path, keeper):
    runtime = aqua_kv.Runtime.open(device=DEVICE, coordinator="none", socket_directory=str(tmp_path))
    publish(runtime, keeper)
    weights = SharedWeights.attach(runtime, "small", keeper=keeper.socket)
    read_once, ends = threading.Semaphore(0), []

    def read_on() -> None:
        try:
            while True:
                assert list(weights) == ["a", "b"] and weights.version == "1"
                assert weights["b"].name == "b" and weights["b"].type == "F32"
                read_once.release()
        except Error as error:
            ends.append(error.code)

    threads = [threading.Thread(target=read_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        read_once.acquire()
    runtime.close()
    for thread in threads:
        thread.join()
    assert ends == [Code.NOT_FOUND] * 3


def test_data_of_another_size_is_refused_and_nothing_is_published(runtime, keeper):
    for shape, bytes_of_block in (((4, 64), 18), ((2, 64), 9)):
        q = NewWeight("q", "Q4_0", bytes(72), shape, 32, bytes_of_block)
        with pytest.raises(ValueError, match="its data has 72"):
            publish_weights(runtime, "packed", "1", [q], keeper=keeper.socket)
    with pytest.raises(aqua_kv.Error) as raised:
        SharedWeights.attach(runtime, "packed", keeper=keeper.socket)
    assert raised.value.code is Code.NOT_FOUND


def test_a_type_whose_elements_have_another_size_has_no_values(runtime, keeper):
    publish_weights(
        runtime, "odd", "1", [NewWeight("w", "F16", B)], keeper=keeper.socket
    )
    with SharedWeights.attach(runtime, "odd", keeper=keeper.socket) as weights:
        with pytest.raises(TypeError, match="F16"):
            weights["w"].values()


def test_a_claim_is_one_engines_until_it_is_closed_and_shows_nothing(runtime, keeper):
    from aqua_kv.weights import claim_weights

    with claim_weights(runtime, "small claim", "1", keeper=keeper.socket):
        with pytest.raises(aqua_kv.Error) as raised:
            claim_weights(runtime, "small claim", "1", keeper=keeper.socket)
        assert raised.value.code is Code.ALREADY_EXISTS
        with pytest.raises(aqua_kv.Error) as raised:
            SharedWeights.attach(runtime, "small claim", keeper=keeper.socket)
        assert raised.value.code is Code.NOT_FOUND
    claim_weights(runtime, "small claim", "1", keeper=keeper.socket).close()
