# SPDX-License-Identifier: Apache-2.0
"""Under which name a model's processed weights are shared: engines whose configurations differ in
anything that may change a byte have different names."""

from __future__ import annotations

import dataclasses
import enum
import os
import sys
from types import SimpleNamespace as Namespace

import pytest
from vllm_loader_engines import torch  # noqa: F401  (a fixture)
from vllm_models import configuration


def named(config):
    from aqua_kv.vllm.identity import identity_of
    from aqua_kv.vllm.loader_options import LoaderOptions

    options = LoaderOptions.parse(config.load_config.model_loader_extra_config)
    return identity_of(config, config.model_config, options)


def set_model(name, value):
    return lambda config, monkeypatch: setattr(config.model_config, name, value)


def group(name, **fields):
    def change(config, monkeypatch):
        from vllm.distributed import parallel_state

        for field, value in fields.items():
            monkeypatch.setattr(getattr(parallel_state, name), field, value)

    return change


def part(name, field, value):
    return lambda config, monkeypatch: setattr(getattr(config, name), field, value)


def encoder_only(config, monkeypatch):
    from vllm.config.multimodal import MultiModalConfig

    config.model_config.multimodal_config = MultiModalConfig(mm_encoder_only=True)


def encoder(mode):
    def change(config, monkeypatch):
        from vllm.config.multimodal import MultiModalConfig

        config.model_config.multimodal_config = MultiModalConfig(mm_encoder_tp_mode=mode)

    return change


def installed(package):
    def change(config, monkeypatch):
        from aqua_kv.vllm import identity

        real = identity._installed
        monkeypatch.setattr(
            identity, "_installed", lambda name: "9.9" if name == package else real(name)
        )

    return change


def lora(config, monkeypatch):
    from vllm.config.lora import LoRAConfig

    config.lora_config = LoRAConfig()


CHANGES = {
    "model": set_model("model", "other/small"),
    "revision": set_model("revision", "v2"),
    "dtype": set_model("dtype", "torch.float16"),
    "quantization": set_model("quantization", "fp8"),
    "configuration": lambda c, m: setattr(c.model_config.hf_config, "width", 64),
    "conversion": set_model("convert", "embed"),
    "encoder only": encoder_only,
    "encoder's parallelism": encoder("data"),
    "load format": lambda c, m: c.load_config.model_loader_extra_config.update(load_format="pt"),
    "load options": lambda c, m: c.load_config.model_loader_extra_config.update(
        load_options={"num_threads": 2}
    ),
    "ignored files": part("load_config", "ignore_patterns", ["a*"]),
    "tensor parallel size": group("TENSOR", world_size=2),
    "pipeline rank": group("PIPELINE", rank_in_group=1),
    "pipeline size": group("PIPELINE", world_size=2),
    "data rank": group("DATA", rank_in_group=1),
    "context rank": group("CONTEXT", rank_in_group=1),
    "expert parallel": part("parallel_config", "enable_expert_parallel", True),
    "expert placement": part("parallel_config", "expert_placement_strategy", "round_robin"),
    "other parallelism": part("parallel_config", "all2all_backend", "deepep"),
    "other kernels": part("kernel_config", "sparse_indexer_topk_backend", "a"),
    "flashinfer": installed("flashinfer-python"),
    "deep_gemm": installed("deep_gemm"),
    "triton": installed("triton"),
    "KV cache dtype": part("cache_config", "cache_dtype", "fp8"),
    "KV cache layers": part("cache_config", "kv_cache_dtype_skip_layers", ["1"]),
    "MoE backend": part("kernel_config", "moe_backend", "triton"),
    "linear backend": part("kernel_config", "linear_backend", "cutlass"),
    "linear backend of types": part("kernel_config", "linear_backend_per_quant", {"fp8": "a"}),
    "attention": part("attention_config", "backend", "FLASHINFER"),
    "LoRA": lora,
    "additional": lambda c, m: c.additional_config.update(a=1),
    "environment": lambda c, m: m.setenv("VLLM_STANDIN_FORCE", "1"),
    "vLLM": lambda c, m: m.setattr("aqua_kv.vllm.identity.vllm_version", "0.34.0"),
    "torch": lambda c, m: m.setattr(sys.modules["torch"], "__version__", "9.9"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_bytes_changes_the_name(monkeypatch, change):
    before, config = named(configuration()), configuration()
    assert named(config) == before
    CHANGES[change](config, monkeypatch)
    assert named(config).model != before.model
    with pytest.raises(RuntimeError, match="of another "):
        named(config).check(before.facts)
    before.check(before.facts)


def test_options_of_the_multimodal_encoder_are_told_apart():
    names = set()
    for mode in ("weights", "data"):
        config = configuration()
        encoder(mode)(config, None)
        names.add(named(config).model)
    assert len(names) == 2


def test_a_digest_is_alike_in_every_process_or_refused():
    from aqua_kv.vllm.identity import digest

    class Hashed:
        def compute_hash(self):
            return "a"

    class Color(enum.Enum):
        RED = object()

    @dataclasses.dataclass
    class Options:
        names: set
        other: object = None

    assert digest(Hashed()) == digest(Hashed()) and digest(Color.RED) == digest(Color.RED)
    names = [f"name {i}" for i in range(20)]
    assert digest(Options(set(names))) == digest(Options(set(reversed(names))))
    assert digest(Options({"a"})) != digest(Options({"b"}))
    for unstable in (object(), lambda: 1, Options(set(), object()), {"a": [object()]}):
        with pytest.raises(RuntimeError, match="0x.*is another in every engine: write it as plain"):
            digest(unstable)
    with pytest.raises(RuntimeError, match="no plain data"):
        digest({("a",): 1})
    config = configuration()
    config.additional_config["hook"] = object()
    with pytest.raises(RuntimeError, match="is another in every engine"):
        named(config)


def test_a_package_that_is_not_installed_is_none():
    from aqua_kv.vllm.identity import _installed

    assert _installed("no such package") is None and _installed("pytest") == pytest.__version__


def test_ranks_are_shards_of_one_name(monkeypatch):
    group("TENSOR", world_size=2)(None, monkeypatch)
    first = named(configuration())
    group("TENSOR", rank_in_group=1)(None, monkeypatch)
    second = named(configuration())
    assert first.model == second.model
    assert [(each.shard, each.shards) for each in (first, second)] == [(0, 2), (1, 2)]


def test_what_changes_no_byte_changes_nothing():
    before = named(configuration())
    for same in ({"wait_seconds": 1}, {"when_missing": "fail"}, {"map_buffers": True}):
        assert named(configuration(**same)) == before


def of_files(place):
    config = configuration()
    config.load_config.model_loader_extra_config.pop("version")
    config.model_config.model = str(place)
    return named(config).version


def test_a_file_that_is_written_anew_is_another_version(tmp_path):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"1234")
    (tmp_path / "readme.md").write_text("a")
    first = of_files(tmp_path)
    (tmp_path / "readme.md").write_text("ab")
    assert of_files(tmp_path) == first
    os.utime(weights, ns=(0, 1))
    second = of_files(tmp_path)
    (tmp_path / "model-2.safetensors").write_bytes(b"")
    third = of_files(tmp_path)
    assert len({first, second, third, of_files(weights)}) == 4


def test_a_file_in_place_of_another_of_the_same_size_and_time_is_another_version(tmp_path):
    weights, other = tmp_path / "model.safetensors", tmp_path / "other"
    weights.write_bytes(b"1" * 8)
    os.utime(weights, ns=(5, 5))
    first = of_files(tmp_path)
    other.write_bytes(b"2" * 8)
    os.utime(other, ns=(5, 5))
    os.rename(other, weights)
    second = of_files(tmp_path)
    weights.write_bytes(b"3" * 8)  # the same file
    os.utime(weights, ns=(5, 5))
    assert len({first, second, of_files(tmp_path)}) == 3


def say_of(file, told, monkeypatch):
    real = os.stat
    monkeypatch.setattr(
        os, "stat", lambda path, **how: told if path == str(file) else real(path, **how)
    )


@pytest.mark.parametrize(
    "field", ["st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev"]
)
def test_all_that_a_file_system_says_of_a_file_is_in_the_version(tmp_path, monkeypatch, field):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes((2).to_bytes(8, "little") + b"{}1234")
    first, there = of_files(weights), os.stat(weights)
    assert of_files(weights) == first
    names = ("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_mode")
    changed = {**{name: getattr(there, name) for name in names}, field: 7}
    say_of(weights, Namespace(**changed), monkeypatch)
    assert of_files(weights) != first


def test_the_header_of_a_safetensors_file_is_in_the_version(tmp_path, monkeypatch):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes((2).to_bytes(8, "little") + b"{}1234")
    first, there = of_files(weights), os.stat(weights)
    weights.write_bytes((2).to_bytes(8, "little") + b"[]1234")
    say_of(weights, there, monkeypatch)
    assert of_files(weights) != first


def test_a_repository_is_known_by_its_commit_or_by_what_the_user_says(torch):
    config = configuration()
    config.load_config.model_loader_extra_config.pop("version")
    with pytest.raises(RuntimeError, match='commit is not known.*"version"'):
        named(config)
    config.model_config.hf_config._commit_hash = "abc"
    first = named(config).version
    config.model_config.hf_config._commit_hash = "abd"
    assert named(config).version != first
    config.model_config.model_weights = "s3://bucket/model"
    with pytest.raises(RuntimeError, match="object store"):
        named(config)
    assert named(configuration(version="of May")).version == "of May"


def test_a_name_is_what_the_keeper_takes():
    config = configuration()
    config.model_config.model = "org/naïve model " + "x" * 200
    name = named(config).model
    assert name.startswith("vllm/na_ve_model_x") and len(name) <= 128 - len(" claim")
    assert name.isascii()
