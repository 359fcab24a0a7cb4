# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua`: published weights that are not this model's, and models and options of vLLM
whose weights are not shared."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
from vllm_loader_engines import (  # noqa: F401  (among them fixtures)
    engine,
    reading,
    refused,
    torch,
)
from vllm_models import Packed

from aqua_kv import NewWeight, publish_weights


RETIRE = (
    "end the engines that map it, then "
    "`aqua models retire --model vllm/small/[0-9a-f]{32} --version 1`"
)


@pytest.mark.parametrize(
    "changes, parts",
    [
        ({"kind": "Extra"}, ["extra.weight is missing there"]),
        ({"width": 96}, [r"embed.weight is a parameter of bfloat16 \[64, 96\] here", r"\[64, 48\]"]),
        ({"dtype": "float16"}, ["embed.weight is a parameter of float16", "of bfloat16"]),
    ],
)
def test_another_model_of_the_same_name_is_refused(engine, torch, monkeypatch, changes, parts):
    from aqua_kv.vllm import identity

    monkeypatch.setattr(identity, "digest", lambda facts: "0" * 32)
    monkeypatch.setattr(identity.Identity, "check", lambda self, published: None)
    engine().load()
    changes = dict(changes)
    dtype = changes.pop("dtype", None)
    other = engine(**changes)
    if dtype:
        other.config.model_config.dtype = getattr(torch, dtype)
    with refused("the published weights are not this model's", *parts, RETIRE):
        other.load()
    assert other.hf.reads == 0


def test_a_tensor_that_this_model_lacks_is_refused(engine, monkeypatch):
    from aqua_kv.vllm import identity

    monkeypatch.setattr(identity, "digest", lambda facts: "0" * 32)
    monkeypatch.setattr(identity.Identity, "check", lambda self, published: None)
    engine("Extra").load()
    with refused("extra.weight is there and not in this model"):
        engine().load()


def test_facts_that_differ_under_one_name_are_named(engine, monkeypatch):
    from aqua_kv.vllm import identity

    monkeypatch.setattr(identity, "digest", lambda facts: "0" * 32)
    engine().load()
    other = engine()
    other.config.cache_config.cache_dtype = "fp8"
    with refused("was published by an engine of another KV cache dtype", RETIRE):
        other.load()


def test_processing_that_leads_elsewhere_is_refused(engine, monkeypatch):
    engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale = layer.weight

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    with refused("packed.weight_scale became a parameter of uint8", "published as a parameter"):
        engine("Quantized").load()


def test_an_attribute_without_memory_is_refused(engine, monkeypatch, torch):
    engine("Quantized").load()

    def process(self, layer):
        layer.workspace = torch.empty((4,), device="meta")

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    with refused("the attribute packed.workspace has no memory"):
        engine("Quantized").load()


def test_a_description_of_another_format_is_refused(engine, monkeypatch):
    from aqua_kv.vllm import description

    engine().load()
    monkeypatch.setattr(description, "FORMAT", 3)
    with refused("described in format 2, this aqua_kv reads format 3", RETIRE):
        engine().load()


def test_weights_of_another_program_are_refused(engine, runtime, keeper):
    from aqua_kv.vllm.identity import identity_of

    one = engine()
    named = identity_of(one.config, one.config.model_config, one.make().options)
    publish_weights(
        runtime, named.model, named.version, [NewWeight("a", "U8", np.zeros(4, np.uint8))],
        keeper=keeper.socket,
    )
    with refused("have no description by this loader", RETIRE):
        one.load()


def test_a_quantization_without_support_is_refused_before_anything_is_read(engine):
    one = engine("Unsupported")
    with refused("packed: Unsupported cannot take weights that are processed already"):
        one.load()
    assert one.hf.reads == 0 and not one.published()
    alone = engine("Unsupported", when_missing="load")
    alone.load()
    assert alone.hf.reads == 1


def test_a_second_checkpoint_wants_a_version(engine):
    with refused("second checkpoint", '"version"'):
        one = engine("Second")
        one.config.load_config.model_loader_extra_config.pop("version")
        one.config.model_config.hf_config._commit_hash = "abc"
        one.load()
    engine("Second").load()


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda c: setattr(c.model_config, "enable_sleep_mode", True), "--enable-sleep-mode"),
        (lambda c: setattr(c.parallel_config, "enable_eplb", True), "--enable-eplb"),
        (lambda c: setattr(c.parallel_config, "nnodes", 2), "--nnodes"),
        (lambda c: setattr(c, "weight_transfer_config", object()), "--weight-transfer-config"),
        (lambda c: setattr(c.offload_config.uva, "cpu_offload_gb", 1.0), "--cpu-offload-gb"),
        (
            lambda c: setattr(c.offload_config.prefetch, "offload_group_size", 1),
            "--offload-group-size",
        ),
    ],
)
def test_options_under_which_weights_are_written_are_refused(engine, change, words):
    one = engine()
    change(one.config)
    with refused(words):
        one.load()
    with refused(words):
        one.external_bytes()
    assert one.hf.reads == 0


def test_a_draft_model_is_refused_with_what_to_write(engine):
    from vllm.config.speculative import SpeculativeConfig

    one = engine()
    one.config.speculative_config = SpeculativeConfig(dataclasses.replace(one.config.model_config))
    with refused('"draft_load_config"'):
        one.make().load_model(one.config, one.config.speculative_config.draft_model_config)
    one.load()


def test_weights_are_not_loaded_into_a_model_that_has_some(engine):
    one = engine()
    model = one.load()
    with refused("does not load weights into a model that has some"):
        one.make().load_weights(model, one.config.model_config)


def on_disk(one, place):
    one.config.load_config.model_loader_extra_config.pop("version")
    one.config.model_config.model = str(place)
    return one


def test_a_checkpoint_that_changes_while_it_is_read_is_not_published(engine, tmp_path):
    weights = tmp_path / "checkpoint/model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"1" * 8)
    one = on_disk(engine(), weights.parent)
    reading(one, lambda model: weights.write_bytes(b"2" * 9))
    before = one.make()
    with refused("changed while it was read; start again"):
        before.load_model(one.config, one.config.model_config)
    assert one.hf.reads == 1 and not one.published()
    os.truncate(weights, 8)
    again = on_disk(engine(wait_seconds=0), weights.parent)  # no claim is left
    again.load()
    assert again.hf.reads == 1 and again.published()


@pytest.fixture
def runtimes(monkeypatch):
    """All that loaders open, so that nothing but closing closes them."""
    from aqua_kv.vllm import sharing

    opened, open_one = [], sharing._open_runtime
    monkeypatch.setattr(
        sharing, "_open_runtime", lambda *told: opened.append(open_one(*told)) or opened[-1]
    )
    return opened


def test_nothing_is_left_open_where_nothing_is_mapped(engine, runtimes, monkeypatch):
    def stop(model):
        raise MemoryError("no room")

    with pytest.raises(MemoryError):
        reading(engine(), stop).load()
    monkeypatch.setattr("aqua_kv.vllm.loader._settle", stop)  # as a device that has failed
    with pytest.raises(MemoryError):
        reading(engine(), stop).load()
    engine(when_missing="load").load()
    assert [runtime.closed for runtime in runtimes] == [True, True, True]


def test_nothing_is_left_open_where_what_is_published_is_refused(engine, monkeypatch, runtimes):
    engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale = layer.weight

    monkeypatch.setattr(Packed, "process_weights_after_loading", process)
    with refused("packed.weight_scale became"):
        engine("Quantized").load()
    assert [runtime.closed for runtime in runtimes] == [False, True]
