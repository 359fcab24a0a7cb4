# SPDX-License-Identifier: Apache-2.0
"""aqua_kv.vllm's loader of weights against the files of the pinned vLLM, and what it builds on there."""

from __future__ import annotations

import ast

import pytest
from conftest import PACKAGE
from vllm_interface import (  # noqa: F401  (theirs is a fixture)
    LOADER,
    Theirs,
    check_alike,
    classes,
    fields,
    functions,
    is_abstract,
    methods,
    theirs,
)


def test_the_loader_implements_the_interface(theirs):
    ours = classes((PACKAGE / "aqua_kv/vllm/loader.py").read_text())["AquaModelLoader"]
    base = classes(theirs.text(f"{LOADER}/base_loader.py"))["BaseModelLoader"]
    assert [ast.unparse(b) for b in ours.bases] == ["BaseModelLoader"]
    abstract = {n for n, m in methods(base).items() if is_abstract(m)}
    assert abstract == {"download_model", "load_weights"} and abstract <= set(methods(ours))
    public = {name for name in methods(ours) if not name.startswith("_")} | {"__init__"}
    assert public <= set(methods(base))
    for name in public:
        method, theirs_too = methods(ours)[name], methods(base)[name]
        check_alike(method, theirs_too)
    # With it a reload in place would go past load_weights(), which refuses it.
    assert "get_all_weights" not in methods(ours)
    assert "hasattr(model_loader, 'get_all_weights')" in code(theirs, f"{LOADER}/reload/inplace.py")


def code(theirs: Theirs, path: str) -> str:
    return ast.unparse(ast.parse(theirs.text(path)))


@pytest.mark.parametrize(
    "path, expressions",
    [
        # load_model() makes the model and loads it by the methods that ours overrides, processes it
        # after that, and answers it ready.
        (
            f"{LOADER}/base_loader.py",
            [
                "model = self.create_model(vllm_config=vllm_config, model_config=model_config, "
                "prefix=prefix)",
                "self.load_weights(model, model_config)",
                "process_weights_after_loading(model, model_config, target_device)",
                "return model.eval()",
            ],
        ),
        # A format is known by the class that was registered, which is given the configuration.
        (
            f"{LOADER}/__init__.py",
            [
                "_LOAD_FORMAT_TO_MODEL_LOADER[load_format] = model_loader_cls",
                "return _LOAD_FORMAT_TO_MODEL_LOADER[load_format](load_config)",
                "issubclass(model_loader_cls, BaseModelLoader)",
            ],
        ),
        # Weights that are processed already: asked of every layer's method, and refused.
        (
            f"{LOADER}/utils.py",
            [
                "isinstance(quant_method, QuantizeMethodBase)",
                "is_weights_pre_processed() and (not quant_method.supports_pre_processed_weights)",
                "load_config.load_format != 'ipc_cache'",
                "speculative_config.draft_load_config is not None",
            ],
        ),
        ("model_executor/utils.py", ["_weights_pre_processed.set(True)"]),
        (
            "model_executor/layers/quantization/base_config.py",
            ["supports_pre_processed_weights: bool = False"],
        ),
        # Memory that is held elsewhere is asked for before the snapshot, of another loader object.
        (
            "v1/worker/gpu_worker.py",
            [
                "external_weight_memory = get_model_loader(self.load_config)"
                ".get_external_weight_memory(self.vllm_config)",
                "request_memory(init_snapshot, self.cache_config, external_weight_memory)",
            ],
        ),
        ("v1/worker/gpu_model_runner.py", ["model_loader = get_model_loader(self.load_config)"]),
        (
            "v1/worker/gpu/model_runner.py",
            ["model_loader = get_model_loader(self.vllm_config.load_config)"],
        ),
        # The plugin's function is called without arguments, in every process.
        (
            "plugins/__init__.py",
            ["DEFAULT_PLUGINS_GROUP = 'vllm.general_plugins'", "for func in plugins.values():"],
        ),
    ],
)
def test_vllm_still_does_what_the_loader_builds_on(theirs, path, expressions):
    text = code(theirs, path)
    for expression in expressions:
        assert expression in text, expression


def test_formats_that_may_read_are_the_default_loaders_or_dummy(theirs):
    from aqua_kv.vllm.loader_options import READ_FORMATS

    text = code(theirs, f"{LOADER}/__init__.py")
    for name in READ_FORMATS:
        loader = "DummyModelLoader" if name == "dummy" else "DefaultModelLoader"
        assert f"'{name}': {loader}" in text, name
    for path, name in (("default_loader", "DefaultModelLoader"), ("dummy_loader", "DummyModelLoader")):
        loader = classes(theirs.text(f"{LOADER}/{path}.py"))[name]
        # load_model() and create_model() are BaseModelLoader's.
        assert not {"load_model", "create_model"} & set(methods(loader))


def facts_of(text):
    """The facts of a name by their keys, and what else an identity has, as KEYWORD=."""
    defined = functions(text)
    (facts,) = [n.value for n in ast.walk(defined["_facts"]) if isinstance(n, ast.Return)]
    (made,) = [n.value for n in ast.walk(defined["identity_of"]) if isinstance(n, ast.Return)]
    assert ast.unparse(made).startswith("Identity(")
    told = {k.value: v for k, v in zip(facts.keys, facts.values)}
    assert "digest(facts)" in ast.unparse(made)
    return {**told, **{f"{k.arg}=": k.value for k in made.keywords}}


def test_every_fact_of_vllms_own_cache_of_weights_is_among_ours(theirs):
    """What vLLM's IPC cache has in its key changes our names too: by a fact, or by the hash of the
    model's configuration."""
    key = classes(theirs.text(f"{LOADER}/weight_cache/protocol.py"))["WeightCacheKey"]
    ours = {  # the fact, and the expression in it
        "checkpoint": ("version=", "version or found"),
        "model_arch": ("model configuration", "model_config.compute_hash()"),
        "tp_size": ("tensor parallel size", "get_tensor_model_parallel_world_size()"),
        "tp_rank": ("shard=", "get_tensor_model_parallel_rank()"),
        "dtype": ("dtype", "model_config.dtype"),
        "quantization": ("quantization", "model_config.quantization"),
        "quant_config_hash": ("model configuration", "model_config.compute_hash()"),
        "rope_parameters_hash": ("model configuration", "model_config.compute_hash()"),
        "kv_cache_dtype": ("KV cache dtype", "cache.cache_dtype"),
        "kv_cache_dtype_skip_layers": (
            "KV cache dtype of layers", "cache.kv_cache_dtype_skip_layers"
        ),
        "revision": ("revision", "model_config.revision"),
        "vllm_version": ("vllm", "vllm_version"),
        "pp_size": ("pipeline parallel", "pp.world_size"),
        "pp_rank": ("pipeline parallel", "pp.rank_in_group"),
        "is_draft": None,  # drafts are refused
        "dp_size": ("data parallel", "dp.world_size"),
        "dp_rank": ("data parallel", "dp.rank_in_group"),
        "enable_expert_parallel": ("expert parallel", "parallel.enable_expert_parallel"),
        "expert_placement_strategy": ("expert placement", "parallel.expert_placement_strategy"),
        "moe_backend": ("MoE backend", "kernel.moe_backend"),
        "linear_backend": ("linear backend", "kernel.linear_backend"),
        "linear_backend_per_quant": (
            "linear backend of types", "kernel.linear_backend_per_quant"
        ),
    }
    assert set(fields(key)) == set(ours)
    facts = facts_of((PACKAGE / "aqua_kv/vllm/identity.py").read_text())
    for fact, expression in filter(None, ours.values()):
        assert expression in {ast.unparse(node) for node in ast.walk(facts[fact])}, fact
    ignored = ast.unparse(methods(classes(theirs.text("config/model.py"))["ModelConfig"])["compute_hash"])
    for name in ("hf_config", "max_model_len", "quantization", "revision", "dtype"):
        assert f"'{name}'" not in ignored, name
