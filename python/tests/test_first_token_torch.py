# SPDX-License-Identifier: Apache-2.0
"""python/bench/first_token with PyTorch, on the CPU and the emulated GPU."""

from __future__ import annotations

import pytest
import test_first_token as with_numpy

pytest.importorskip("torch")


def test_every_way_brings_back_the_logits_of_before(tmp_path):
    with_numpy.every_way_brings_back_the_logits_of_before("torch", tmp_path)


def test_a_token_alone_follows_from_the_cache_as_in_one_pass():
    with_numpy.a_token_alone_follows_from_the_cache_as_in_one_pass(with_numpy.TorchMaths())
