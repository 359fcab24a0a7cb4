# SPDX-License-Identifier: Apache-2.0
"""What the connector makes of vLLM's KV caches."""

from __future__ import annotations

import math

import pytest

from aqua_kv.vllm.kv_planes import planes_of


class Cache:
    dtype = "uint8"
    made = 0

    def __init__(self, *shape, stride=None):
        Cache.made += 1
        self.address = Cache.made << 20
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
