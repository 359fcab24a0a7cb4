# SPDX-License-Identifier: Apache-2.0
"""aqua_kv.vllm and the stand-in against the files of the pinned vLLM, which are read, not run:
classes, methods, parameters, fields and members by name. AQUA_VLLM names a folder that
scripts/vllm-interface made, or the wheel itself; without it build/vllm is looked for."""

from __future__ import annotations

import ast
import os
import zipfile
from pathlib import Path
from typing import Dict, List, Optional, Set

import pytest
from conftest import HERE, PACKAGE

from aqua_kv.vllm import VLLM_VERSION

INTERFACE = ["v1/kv_offload/base.py", "v1/kv_offload/config.py", "v1/metrics/cache_hit_source.py"]
LOADER = "model_executor/model_loader"
INTERFACE += [
    f"{LOADER}/__init__.py", f"{LOADER}/base_loader.py", f"{LOADER}/utils.py",
    "model_executor/utils.py", "model_executor/layers/quantization/base_config.py",
    "distributed/parallel_state.py", "utils/torch_utils.py", "envs.py",
]
INTERFACE += [
    f"config/{name}.py" for name in (
        "attention", "cache", "device", "kernel", "load", "lora", "model", "multimodal", "offload",
        "parallel", "speculative", "vllm",
    )
]
# Made by the tests as vLLM does not make it: what the loader uses of it is compared.
OWN = {"GroupCoordinator"}
CONNECTOR = "distributed/kv_transfer/kv_connector/v1/offloading"


class Theirs:
    """Files of the pinned vLLM."""

    def __init__(self, place: Path) -> None:
        self._wheel = zipfile.ZipFile(place) if place.is_file() else None
        self._folder = place
        if self._wheel is not None:
            assert place.name.startswith(f"vllm-{VLLM_VERSION}-"), f"not vLLM {VLLM_VERSION}"
        else:
            found = (place / "version").read_text().strip()
            assert found == VLLM_VERSION, f"vLLM {found}, not {VLLM_VERSION}"

    def text(self, path: str) -> str:
        if self._wheel is not None:
            return self._wheel.read(f"vllm/{path}").decode()
        return (self._folder / "vllm" / path).read_text()


@pytest.fixture(scope="module")
def theirs() -> Theirs:
    named = os.environ.get("AQUA_VLLM") or str(PACKAGE.parent / "build/vllm")
    if not os.path.exists(named):
        pytest.skip(f"AQUA_VLLM names no files of vLLM {VLLM_VERSION} (scripts/vllm-interface)")
    return Theirs(Path(named))


def classes(text: str) -> Dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def methods(node: ast.ClassDef) -> Dict[str, ast.FunctionDef]:
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def functions(text: str) -> Dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def names_in(text: str) -> Set[str]:
    """Everything that a file defines, assigns or imports for others to import."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def parameters(method: ast.FunctionDef) -> List[str]:
    """Names in order, "=" after those that have a default."""
    arguments = method.args
    names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    first = len(names) - len(arguments.defaults)
    told = [name + ("=" if i >= first else "") for i, name in enumerate(names)]
    told += [a.arg + ("=" if d else "") for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    assert arguments.vararg is None and arguments.kwarg is None
    return told


def default_of(method: ast.FunctionDef, name: str) -> Optional[str]:
    names = [argument.arg for argument in method.args.args]
    defaults = dict(zip(reversed(names), reversed(method.args.defaults)))
    return ast.unparse(defaults[name]) if name in defaults else None


def is_abstract(method: ast.FunctionDef) -> bool:
    return any("abstractmethod" in ast.unparse(d) for d in method.decorator_list)


def fields(node: ast.ClassDef) -> Dict[str, bool]:
    """Annotated fields in order, and whether they have a default."""
    return {
        item.target.id: item.value is not None
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def members(node: ast.ClassDef) -> Dict[str, str]:
    return {
        item.targets[0].id: ast.unparse(item.value)
        for item in node.body
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)
    }


@pytest.mark.parametrize("path", INTERFACE)
def test_the_stand_in_has_nothing_that_vllm_has_not(theirs, path):
    standin = (HERE / "in_vllm/standin/vllm" / path).read_text()
    there = functions(theirs.text(path))
    for name, function in functions(standin).items():
        assert parameters(function) == parameters(there[name]), name
    real = classes(theirs.text(path))
    for name, ours in classes(standin).items():
        assert name in real, name
        for method_name, method in methods(ours).items():
            assert method_name in methods(real[name]), f"{name}.{method_name}"
            theirs_too = methods(real[name])[method_name]
            assert parameters(method) == parameters(theirs_too), f"{name}.{method_name}"
            assert is_abstract(method) == is_abstract(theirs_too), f"{name}.{method_name}"
        real_fields = fields(real[name])
        ours_fields = fields(ours)
        if name in OWN:
            assert {"rank_in_group", "world_size"} <= set(real_fields), name
            continue
        assert ours_fields.items() <= real_fields.items(), name
        # What vLLM wants given is given, and in this order.
        wanted = [field for field, default in real_fields.items() if not default]
        if wanted and ours_fields:
            assert [f for f, default in ours_fields.items() if not default] == wanted, name
        assert members(ours).items() <= members(real[name]).items(), name


@pytest.mark.parametrize(
    "path, ours_name, base_name",
    [
        ("manager.py", "AquaOffloadingManager", "OffloadingManager"),
        ("worker.py", "AquaOffloadingWorker", "OffloadingWorker"),
        ("spec.py", "AquaOffloadingSpec", "OffloadingSpec"),
        ("load_store.py", "AquaLoadStoreSpec", "BlockIDsLoadStoreSpec"),
    ],
)
def test_our_classes_implement_the_interface(theirs, path, ours_name, base_name):
    ours = classes((PACKAGE / "aqua_kv/vllm" / path).read_text())[ours_name]
    base = classes(theirs.text("v1/kv_offload/base.py"))[base_name]
    assert [ast.unparse(b) for b in ours.bases] == [base_name]
    missing = {n for n, m in methods(base).items() if is_abstract(m)} - set(methods(ours))
    assert not missing
    for name, method in methods(ours).items():
        theirs_too = methods(base).get(name)
        if theirs_too is None or name == "__init__" and ours_name != "AquaOffloadingSpec":
            continue
        assert parameters(method) == parameters(theirs_too), name
        for argument in parameters(method):
            argument = argument.rstrip("=")
            assert default_of(method, argument) == default_of(theirs_too, argument), name


def test_everything_that_we_import_is_there(theirs):
    for source in sorted((PACKAGE / "aqua_kv/vllm").glob("*.py")):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm."):
                path = (node.module or "").split(".", 1)[1].replace(".", "/")
                path += ".py" if path != LOADER else "/__init__.py"
                there = names_in(theirs.text(path))
                assert {alias.name for alias in node.names} <= there, source.name


def calls(text: str, receiver: str) -> Dict[str, List[ast.Call]]:
    """Calls of methods of self.RECEIVER."""
    found: Dict[str, List[ast.Call]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == f"self.{receiver}":
                found.setdefault(node.func.attr, []).append(node)
    return found


@pytest.mark.parametrize(
    "path, receiver, module, name",
    [
        ("scheduler.py", "manager", "manager.py", "AquaOffloadingManager"),
        ("worker.py", "worker", "worker.py", "AquaOffloadingWorker"),
    ],
)
def test_what_the_connector_calls_is_there_and_takes_what_it_gives(
    theirs, path, receiver, module, name
):
    base = classes(theirs.text("v1/kv_offload/base.py"))
    ours = classes((PACKAGE / "aqua_kv/vllm" / module).read_text())[name]
    there = {**methods(base[ast.unparse(ours.bases[0])]), **methods(ours)}
    made = calls(theirs.text(f"{CONNECTOR}/{path}"), receiver)
    assert made
    for method, each in made.items():
        assert method in there, method
        wanted = [p.rstrip("=") for p in parameters(there[method])][1:]
        for call in each:
            given = wanted[: len(call.args)] + [k.arg for k in call.keywords]
            required = [p for p in parameters(there[method])[1:] if not p.endswith("=")]
            assert len(call.args) <= len(wanted), ast.unparse(call)
            assert set(given) <= set(wanted) and set(required) <= set(given), ast.unparse(call)


def test_the_factory_finds_a_spec_by_the_names_that_we_tell(theirs):
    text = theirs.text("v1/kv_offload/factory.py")
    for expression in (
        "extra_config.get('spec_module_path')", "importlib.import_module(spec_module_path)",
        "getattr(spec_module, spec_name)", "spec_cls(config)",
    ):
        assert expression in ast.unparse(ast.parse(text)), expression


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
        assert parameters(method) == parameters(theirs_too), name
        for argument in parameters(method):
            argument = argument.rstrip("=")
            assert default_of(method, argument) == default_of(theirs_too, argument), name
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


def test_every_fact_of_vllms_own_cache_of_weights_is_among_ours(theirs):
    """What vLLM's IPC cache has in its key changes our names too: by a fact, or by the hash of the
    model's configuration."""
    key = classes(theirs.text(f"{LOADER}/weight_cache/protocol.py"))["WeightCacheKey"]
    ours = {
        "checkpoint": "version", "model_arch": "model_config.compute_hash",
        "tp_size": "get_tensor_model_parallel_world_size", "tp_rank": "get_tensor_model_parallel_rank",
        "dtype": "model_config.dtype", "quantization": "model_config.quantization",
        "quant_config_hash": "model_config.compute_hash",
        "rope_parameters_hash": "model_config.compute_hash",
        "kv_cache_dtype": "cache.cache_dtype",
        "kv_cache_dtype_skip_layers": "cache.kv_cache_dtype_skip_layers",
        "revision": "model_config.revision", "vllm_version": "vllm_version",
        "pp_size": "pp.world_size", "pp_rank": "pp.rank_in_group",
        "is_draft": "",  # drafts are refused
        "dp_size": "dp.world_size", "dp_rank": "dp.rank_in_group",
        "enable_expert_parallel": "parallel.enable_expert_parallel",
        "expert_placement_strategy": "parallel.expert_placement_strategy",
        "moe_backend": "kernel.moe_backend", "linear_backend": "kernel.linear_backend",
        "linear_backend_per_quant": "kernel.linear_backend_per_quant",
    }  # fmt: skip
    assert set(fields(key)) == set(ours)
    text = (PACKAGE / "aqua_kv/vllm/identity.py").read_text()
    assert all(fact in text for fact in ours.values())
    ignored = ast.unparse(methods(classes(theirs.text("config/model.py"))["ModelConfig"])["compute_hash"])
    for name in ("hf_config", "max_model_len", "quantization", "revision", "dtype"):
        assert f"'{name}'" not in ignored, name
