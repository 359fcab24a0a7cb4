# SPDX-License-Identifier: Apache-2.0
"""What the connector makes of vLLM's KV caches."""

from __future__ import annotations

import math

import pytest

from aqua_kv.vllm.kv_planes import planes_of


class Cache:
    dtype = "uint8"
    made = 0

    def __init__(self, *shape, stride=None, address=None):
        Cache.made += 1
        self.address = address or Cache.made << 20
        self.shape = shape
        self._stride = stride or [math.prod(shape[i + 1 :]) for i in range(len(shape))]

    def stride(self):
        return self._stride

    def element_size(self):
        return 1

    def data_ptr(self):
        return self.address


def test_caches_of_each_order_and_none_that_cannot_be():
    for heads, stride in ((3, None), (3, [192, 16, 48, 1]), (1, None)):  # tokens before heads, a latent
        told = planes_of(
            {name: Cache(9, heads, 4, 16, stride=stride) for name in ("m.10.a", "m.9.a")}, 4)
        assert (told.heads, told.head_bytes) == (heads, 16)
        assert told.layers == {"m.9.a": 0, "m.10.a": 1}
        assert told.layout.block_count == 9 and told.layout.tokens_per_block == 4
    for caches, message in (
        ({}, "no KV caches"), ({"m.a": Cache(9, 3, 4, 16)}, "no layer by one number"),
        ({"m.0.a": Cache(9, 3, 5, 16)}, "--block-size 5"), ({"m.0.a": Cache(2, 9, 4, 3, 16)}, "four axes"),
        ({"m.0.a": Cache(9, 3, 4, 16), "m.1.a": Cache(8, 3, 4, 16)}, "m.1.a is"),
        ({"m.0.a": Cache(9, 1, 4, 16, stride=[64, 64, 1, 4])}, "in pieces"),
    ):
        with pytest.raises(ValueError, match=message):
            planes_of(caches, 4)


@pytest.mark.parametrize("order", [
    "LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC",  # vLLM's KVCacheLayout
])
def test_caches_may_lie_in_each_order_of_memory_that_vllm_has(order):
    sizes = {"L": 2, "B": 9, "H": 3, "N": 4, "C": 16}
    stride, step = {}, 1
    for axis in reversed(order):
        stride[axis] = step
        step *= sizes[axis]
    caches = {
        f"m.{layer}.a": Cache(
            9, 3, 4, 16, stride=[stride[axis] for axis in "BHNC"], address=(1 << 30) + layer * stride["L"])
        for layer in range(2)
    }
    told = planes_of(caches, 4)
    assert (told.heads, told.head_bytes, told.layout.layers, told.layout.block_count) == (3, 16, 2, 9)


def test_layers_that_share_or_have_one_number_are_refused():
    one = Cache(9, 3, 4, 16)
    with pytest.raises(ValueError, match="m.1.a shares its KV with m.0.a"):
        planes_of({"m.0.a": one, "m.1.a": one}, 4)
    with pytest.raises(ValueError, match="draft model"):
        planes_of({"m.0.a": one, "draft_model.m.0.a": Cache(9, 3, 4, 16)}, 4)
