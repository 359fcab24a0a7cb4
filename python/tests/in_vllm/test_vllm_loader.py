# SPDX-License-Identifier: Apache-2.0
"""`--load-format aqua` with a real keeper and emulated GPUs: the first engine publishes, others map.
With PyTorch where it is installed (its CPU tensors over the emulated GPU's memory), else with a
stand-in for it; vLLM's classes are the stand-in's, which test_vllm_interface.py compares."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys

import pytest
import vllm
from conftest import HERE, PACKAGE, until

import aqua_kv
from aqua_kv import NewWeight, SharedWeights, publish_weights


if "standin" not in str(vllm.__file__):
    pytest.skip("vLLM is installed: test_vllm_real.py", allow_module_level=True)


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    """The real one, or the stand-in for as long as a test runs."""
    try:
        import torch
    except ImportError:
        import torch_standin as torch

        monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.fixture
def engine(keeper, tmp_path):
    """Configurations and loaders of engines that share a keeper."""

    class Engine:
        def __init__(self, kind="Small", seed=1, width=48, **extra):
            from aqua_kv.vllm.loader import AquaModelLoader
            from vllm_models import configuration

            extra = {"keeper": keeper.socket, "socket_directory": str(tmp_path), **extra}
            self.config = configuration(kind, seed, width, **extra)
            self.hf = self.config.model_config.hf_config
            self.make = lambda: AquaModelLoader(self.config.load_config)

        def load(self):
            return self.make().load_model(self.config, self.config.model_config)

        def external_bytes(self):
            return self.make().get_external_weight_memory(self.config)

        def published(self):
            """Whether the keeper has what this engine would publish."""
            from aqua_kv.vllm.identity import identity_of

            loader = self.make()
            named = identity_of(self.config, self.config.model_config, loader.options)
            with aqua_kv.Runtime.open(
                device="emu:0", coordinator="none", host_bytes=2 << 20,
                socket_directory=str(tmp_path),
            ) as rt:
                try:
                    SharedWeights.attach(
                        rt, named.model, version=named.version, keeper=keeper.socket
                    ).close()
                except aqua_kv.Error as error:
                    assert error.code is aqua_kv.Code.NOT_FOUND
                    return False
            return True

    yield Engine
    from aqua_kv.vllm import loader

    loader._opened.clear()


def refused(*parts):
    from aqua_kv.vllm.description import SharingError

    return pytest.raises(SharingError, match=".*".join(parts))


@pytest.fixture(autouse=True)
def no_engine_is_left():
    yield
    for process in _started:
        process.kill()
        process.wait()
    _started.clear()


_started = []


def start(tmp_path, keeper, **told):
    extra = {"keeper": keeper.socket, "socket_directory": str(tmp_path)}
    told["extra"] = {**extra, **told.get("extra", {})}
    process = subprocess.Popen(
        [sys.executable, str(HERE / "in_vllm/vllm_load.py"), json.dumps(told)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=f"{PACKAGE}:{HERE}"),
    )
    _started.append(process)
    return process


def answer(process):
    lines = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == 0
    return json.loads(lines[-1])


@pytest.mark.parametrize("kind", ["Small", "Quantized"])
def test_the_first_publishes_and_others_map_the_same_state(engine, kind):
    from vllm_models import contents

    alone = engine(kind, when_missing="load")
    expected = contents(alone.load())
    first, second = engine(kind), engine(kind, when_missing="fail")
    published, mapped = first.load(), second.load()
    assert list(contents(published)) == list(expected) == list(contents(mapped))
    assert contents(published) == expected and contents(mapped) == expected
    assert (alone.hf.reads, first.hf.reads, second.hf.reads) == (1, 1, 0)


def test_what_is_no_part_of_the_state_dict_is_there_too(engine, torch):
    from vllm_models import form

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


def mappings_that_are_read_only():
    with open("/proc/self/maps", encoding="ascii") as file:
        lines = [line.split() for line in file]
    return [
        tuple(int(end, 16) for end in line[0].split("-")) for line in lines if line[1][1] == "-"
    ]


def within(tensor, mappings):
    return any(start <= tensor.data_ptr() < end for start, end in mappings)


def test_the_kernel_refuses_a_write(engine, keeper, tmp_path):
    engine().load()
    process = start(tmp_path, keeper, write=True, extra={"when_missing": "fail"})
    lines = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == -signal.SIGSEGV and "written" not in lines
    assert json.loads(lines[-1])["reads"] == 0


def test_of_two_at_the_same_time_one_reads(keeper, tmp_path):
    processes = [start(tmp_path, keeper, read_seconds=0.5, stay=True) for _ in range(3)]
    said = [answer(process) for process in processes]
    assert sorted(each["reads"] for each in said) == [0, 0, 1]
    assert all(each["contents"] == said[0]["contents"] for each in said)


def test_when_the_one_that_reads_dies_the_one_that_waits_reads(keeper, tmp_path):
    first = start(tmp_path, keeper, read_seconds=60)
    assert first.stdout.readline() == "reading\n"
    second = start(tmp_path, keeper)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(timeout=1)
    first.kill()
    first.communicate()
    assert answer(second)["reads"] == 1


def test_waiting_ends(engine, keeper, tmp_path):
    first = start(tmp_path, keeper, read_seconds=60)
    assert first.stdout.readline() == "reading\n"
    with refused("another engine has been loading it for more than 0 s", "wait_seconds"):
        engine(wait_seconds=0).load()


def ranks(tmp_path, keeper, engine, **told):
    place = tmp_path / engine
    place.mkdir()
    return [
        start(tmp_path, keeper, rank=i, ranks=2, seed=i + 1, place=str(place), **told)
        for i in (0, 1)
    ]


def test_ranks_publish_shards_and_map_once_all_are_there(keeper, tmp_path):
    first = [answer(each) for each in ranks(tmp_path, keeper, "first", read_seconds=0.3)]
    absent = {"when_missing": "fail"}
    again = [answer(each) for each in ranks(tmp_path, keeper, "second", extra=absent)]
    assert [each["reads"] for each in first + again] == [1, 1, 0, 0]
    assert [each["contents"] for each in first] == [each["contents"] for each in again]
    assert first[0]["contents"] != first[1]["contents"]


def test_engines_of_two_ranks_that_start_together_do_not_wait_for_each_other(keeper, tmp_path):
    started = [
        each
        for engine in ("a", "b")
        for each in ranks(tmp_path, keeper, engine, read_seconds=0.5, ask=True, stay=True)
    ]
    said = [answer(each) for each in started]
    assert sorted([said[0]["reads"] + said[1]["reads"], said[2]["reads"] + said[3]["reads"]]) == [0, 2]
    assert [said[i]["contents"] for i in (0, 1)] == [said[i]["contents"] for i in (2, 3)]


def test_every_rank_is_told_what_the_first_one_met(keeper, tmp_path):
    for each in ranks(tmp_path, keeper, "a", extra={"when_missing": "fail"}):
        text = each.communicate(timeout=60)[0]
        assert each.returncode == 1 and text == ""


def test_who_publishes_second_maps_the_first_ones(engine, monkeypatch, caplog):
    """Without claims, as if the keeper had forgotten them."""
    from aqua_kv.vllm import sharing
    from vllm_models import contents

    class NoClaim:
        def close(self):
            pass

    monkeypatch.setattr(sharing, "claim_weights", lambda *_, **__: NoClaim())
    slow, quick = engine(), engine()
    made = slow.hf.model_class()
    models = []

    def make(config):
        model = made(config)
        reading = model.load

        def load(config):
            reading(config)
            models.append(quick.load())

        object.__setattr__(model, "load", load)
        return model

    slow.hf.model_class = lambda: make
    models.append(slow.load())
    assert (slow.hf.reads, quick.hf.reads) == (1, 1)
    assert "published by another engine meanwhile" in caplog.text
    assert contents(models[0]) == contents(models[1])
    assert within(models[1].qkv.weight, mappings_that_are_read_only())


def test_without_a_keeper_nothing_is_read_from_a_disk(engine):
    for when in ("publish", "load", "fail"):
        lost = engine(keeper="/nowhere/keeper.sock", when_missing=when)
        with refused("unavailable", "Start aqua-keeper"):
            lost.load()
        with refused("unavailable"):
            lost.external_bytes()
        assert lost.hf.reads == 0


def test_what_is_not_published_is_an_error_or_read_for_one_engine_as_the_options_say(
    engine, caplog
):
    absent = engine(when_missing="fail")
    with refused("is not published", "start an engine that publishes it"):
        absent.load()
    with refused("is not published"):
        absent.external_bytes()
    assert absent.hf.reads == 0
    alone = engine(when_missing="load")
    assert alone.external_bytes() == 0
    model = alone.load()
    assert alone.hf.reads == 1 and not alone.published()
    assert "read for this engine alone" in caplog.text
    assert not within(model.qkv.weight, mappings_that_are_read_only())


def test_memory_that_the_keeper_has_is_told_before_the_model_is_loaded(engine):
    first, second = engine(), engine()
    assert first.external_bytes() == 0
    first.load()
    told = second.external_bytes()
    assert told >= sum(t.numel() * t.element_size() for t in second.load().state_dict().values())
    assert second.hf.reads == 0


def test_a_claim_goes_when_the_configuration_changes_before_the_model_is_loaded(
    engine, keeper, tmp_path
):
    before, changed = engine(), engine(width=96)
    assert before.external_bytes() == 0
    changed.load()
    assert answer(start(tmp_path, keeper, extra={"wait_seconds": 0}))["reads"] == 1


def test_who_was_told_zero_is_the_one_to_read(keeper, tmp_path):
    """The claim is held from get_external_weight_memory() on: what it said stays so."""
    processes = [start(tmp_path, keeper, ask=True, read_seconds=0.3) for _ in range(2)]
    said = [answer(process) for process in processes]
    assert sorted((each["reads"], each["external"] > 0) for each in said) == [(0, True), (1, False)]


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
    with refused("the published weights are not this model's", *parts):
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
    with refused("was published by an engine of another KV cache dtype"):
        other.load()


def test_processing_that_leads_elsewhere_is_refused(engine, monkeypatch):
    import vllm_models

    engine("Quantized").load()

    def process(self, layer):
        layer.weight_scale = layer.weight

    monkeypatch.setattr(vllm_models.Packed, "process_weights_after_loading", process)
    with refused("packed.weight_scale became a parameter of uint8", "published as a parameter"):
        engine("Quantized").load()


def test_an_attribute_without_memory_is_refused(engine, monkeypatch, torch):
    import vllm_models

    engine("Quantized").load()

    def process(self, layer):
        layer.workspace = torch.empty((4,), device="meta")

    monkeypatch.setattr(vllm_models.Packed, "process_weights_after_loading", process)
    with refused("the attribute packed.workspace has no memory"):
        engine("Quantized").load()


def test_weights_of_another_program_are_refused(engine, runtime, keeper):
    from aqua_kv.vllm.identity import identity_of
    import numpy as np

    one = engine()
    named = identity_of(one.config, one.config.model_config, one.make().options)
    publish_weights(
        runtime, named.model, named.version, [NewWeight("a", "U8", np.zeros(4, np.uint8))],
        keeper=keeper.socket,
    )
    with refused("have no description by this loader"):
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


def test_a_download_is_the_readers(engine):
    one = engine()
    one.make().download_model(one.config.model_config)
    assert one.hf.downloads == 1
    absent = engine(when_missing="fail")
    absent.make().download_model(absent.config.model_config)
    assert absent.hf.downloads == 0


@pytest.mark.parametrize(
    "extra, words",
    [
        ({"when_mising": "load"}, "no option 'when_mising'; there are when_missing, load_format"),
        ({"when_missing": "maybe"}, "when_missing is 'maybe'; there are publish, load, fail"),
        ({"load_format": "tensorizer"}, "load_format is 'tensorizer'; there are auto, hf"),
        ({"wait_seconds": "1"}, "wait_seconds is '1', not int"),
        ({"wait_seconds": True}, "wait_seconds is True, not int"),
        ({"wait_seconds": -1}, "wait_seconds must not be negative"),
        ({"map_buffers": 1}, "map_buffers is 1, not bool"),
        ({"load_options": []}, r"load_options is \[\], not dict"),
    ],
)
def test_options_that_cannot_be_are_named(engine, extra, words):
    with pytest.raises(ValueError, match=words):
        engine(**extra).make()


def test_a_device_that_torch_does_not_have_is_refused(engine):
    for device in ("", "cuda:0"):
        with refused("torch's device is cpu"):
            engine(device=device).load()


def test_it_is_registered_as_a_load_format(engine):
    from aqua_kv.vllm.loader import AquaModelLoader
    from aqua_kv.vllm.plugin import register
    from vllm.model_executor.model_loader import get_model_loader

    register()
    register()
    assert type(get_model_loader(engine().config.load_config)) is AquaModelLoader
    assert 'aqua = "aqua_kv.vllm.plugin:register"' in (PACKAGE / "pyproject.toml").read_text()


def test_a_model_that_is_dropped_unmaps_its_weights(engine):
    import gc

    one = engine()
    model = one.load()
    place = model.qkv.weight.data_ptr()
    assert any(s <= place < e for s, e in mappings_that_are_read_only())
    del model
    gc.collect()
    until(
        lambda: not any(s <= place < e for s, e in mappings_that_are_read_only()), "unmapped"
    )
