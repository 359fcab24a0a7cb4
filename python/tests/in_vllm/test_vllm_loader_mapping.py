# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: the first engine publishes, others map the same state."""

from __future__ import annotations

import gc
import json
import signal

import pytest
from conftest import until
from vllm_loader_engines import (  # noqa: F401  (among them fixtures)
    engine,
    mappings_that_are_read_only,
    start,
    torch,
    within,
)
from vllm_models import contents, form


@pytest.mark.parametrize("kind", ["Small", "Quantized"])
def test_the_first_publishes_and_others_map_the_same_state(engine, kind):
    alone = engine(kind, when_missing="load")
    expected = contents(alone.load())
    first, second = engine(kind), engine(kind, when_missing="fail")
    published, mapped = first.load(), second.load()
    assert list(contents(published)) == list(expected) == list(contents(mapped))
    assert contents(published) == expected and contents(mapped) == expected
    assert (alone.hf.reads, first.hf.reads, second.hf.reads) == (1, 1, 0)


def test_what_is_no_part_of_the_state_dict_is_there_too(engine, torch):
    first, second = engine(), engine()
    published, mapped = first.load(), second.load()
    for name in ("cache", "scale", "kv_cache", "window"):
        assert form(getattr(mapped.rotary, name)) == form(getattr(published.rotary, name)), name
    assert "rotary.cache" not in mapped.state_dict() and "rotary.scale" in mapped.state_dict()
    assert not isinstance(mapped.rotary.window, torch.nn.Parameter)
    assert not mapped.training and mapped.bias is None


def test_tied_weights_stay_tied_and_views_stay_views(engine, torch):
    for model in (engine().load(), engine().load()):
        assert model.head.weight is model.embed.weight
        assert model.norm_too is model.norm
        apart = model.down.data_ptr() - model.up.data_ptr()
        assert apart == 48 * 48 * 4 and tuple(model.down.stride()) == (1, 48)
        assert model.up.untyped_storage().data_ptr() == model.down.untyped_storage().data_ptr()
        assert isinstance(model.embed.weight, torch.nn.Parameter)


def test_what_processing_has_made_is_mapped_and_what_it_consumed_is_gone(engine, torch):
    for model in (engine("Quantized").load(), engine("Quantized").load()):
        weight = model.packed.weight
        assert weight.dtype == torch.uint8 and tuple(weight.stride()) == (1, 48)
        assert model.packed.ready and tuple(model.packed.weight_scale.shape) == (32,)
        assert not hasattr(model.packed, "input_scale")


def test_parameters_are_mapped_and_buffers_are_the_engines_own(engine):
    first, second, third = engine(), engine(), engine(map_buffers=True)
    a, b, c = first.load(), second.load(), third.load()
    a.rotary.scale.copy_(c.rotary.scale.clone())  # no other engine's is written
    mapped = mappings_that_are_read_only()
    for model in (a, b, c):
        assert within(model.qkv.weight, mapped) and within(model.up, mapped)
    assert not within(a.rotary.cache, mapped) and not within(b.rotary.scale, mapped)
    assert within(c.rotary.cache, mapped) and within(c.rotary.scale, mapped)
    assert not within(c.rotary.window, mapped)


def test_the_kernel_refuses_a_write(engine, start):
    engine().load()
    process = start(write=True, extra={"when_missing": "fail"})
    lines = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == -signal.SIGSEGV and "written" not in lines
    assert json.loads(lines[-1])["reads"] == 0


def test_memory_that_the_keeper_has_is_told_before_the_model_is_loaded(engine):
    first, second = engine(), engine()
    assert first.external_bytes() == 0
    first.load()
    told = second.external_bytes()
    assert told >= sum(t.numel() * t.element_size() for t in second.load().state_dict().values())
    assert second.hf.reads == 0


def test_a_model_that_is_dropped_unmaps_its_weights(engine):
    one = engine()
    model = one.load()
    place = model.qkv.weight.data_ptr()
    assert any(s <= place < e for s, e in mappings_that_are_read_only())
    del model
    gc.collect()
    until(
        lambda: not any(s <= place < e for s, e in mappings_that_are_read_only()), "unmapped"
    )
