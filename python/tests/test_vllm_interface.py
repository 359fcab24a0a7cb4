# SPDX-License-Identifier: Apache-2.0
"""aqua_kv.vllm and the stand-in against the files of the pinned vLLM, which are read, not run:
classes, methods, parameters, fields and members by name. AQUA_VLLM names a folder that
scripts/vllm-interface made, or the wheel itself; without it build/vllm is looked for."""

from __future__ import annotations

import ast
import os
import zipfile
from pathlib import Path
from typing import Dict, List, Optional

import pytest
from conftest import HERE, PACKAGE

from aqua_kv.vllm import VLLM_VERSION

INTERFACE = ["v1/kv_offload/base.py", "v1/kv_offload/config.py", "v1/metrics/cache_hit_source.py"]
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
    real = classes(theirs.text(path))
    for name, ours in classes((HERE / "standin/vllm" / path).read_text()).items():
        assert name in real, name
        for method_name, method in methods(ours).items():
            assert method_name in methods(real[name]), f"{name}.{method_name}"
            theirs_too = methods(real[name])[method_name]
            assert parameters(method) == parameters(theirs_too), f"{name}.{method_name}"
            assert is_abstract(method) == is_abstract(theirs_too), f"{name}.{method_name}"
        real_fields = fields(real[name])
        ours_fields = fields(ours)
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
                path = (node.module or "").split(".", 1)[1].replace(".", "/") + ".py"
                there = ast.parse(theirs.text(path))
                names = {n.name for n in there.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
                names |= {
                    t.id for n in there.body if isinstance(n, ast.Assign)
                    for t in n.targets if isinstance(t, ast.Name)
                }
                assert {alias.name for alias in node.names} <= names, source.name


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
