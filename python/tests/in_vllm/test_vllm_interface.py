# SPDX-License-Identifier: Apache-2.0
"""The stand-in, and all that aqua_kv.vllm imports, against the files of the pinned vLLM."""

from __future__ import annotations

import ast
from typing import Set

import pytest
from conftest import HERE, PACKAGE
from vllm_interface import (  # noqa: F401  (theirs is a fixture)
    LOADER,
    classes,
    fields,
    functions,
    is_abstract,
    members,
    methods,
    parameters,
    theirs,
)

INTERFACE = [
    "distributed/kv_transfer/kv_connector/v1/base.py",
    "distributed/kv_transfer/kv_connector/v1/metrics.py",
    "v1/kv_offload/base.py", "v1/kv_offload/config.py", "v1/metrics/cache_hit_source.py",
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


def test_everything_that_we_import_is_there(theirs):
    for source in sorted((PACKAGE / "aqua_kv/vllm").glob("*.py")):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vllm."):
                path = (node.module or "").split(".", 1)[1].replace(".", "/")
                path += ".py" if path != LOADER else "/__init__.py"
                there = names_in(theirs.text(path))
                assert {alias.name for alias in node.names} <= there, source.name
