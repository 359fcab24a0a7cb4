# SPDX-License-Identifier: Apache-2.0
"""Engines that load with `--load-format aqua` and share a real keeper, over emulated GPUs: in a test's
own process (the fixture engine), or as processes of their own (start). With PyTorch where it is
installed (its CPU tensors over the emulated GPU's memory), else with a stand-in for it; vLLM's
classes are the stand-in's, which test_vllm_interface.py compares. Where vLLM itself is installed,
modules of tests that import this are skipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import vllm
from conftest import HERE, PACKAGE

import aqua_kv
from aqua_kv import SharedWeights

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


@pytest.fixture
def start(keeper, tmp_path):
    """Starts an engine in a process of its own, told as vllm_load.py says."""
    started = []

    def start(**told):
        extra = {"keeper": keeper.socket, "socket_directory": str(tmp_path)}
        told["extra"] = {**extra, **told.get("extra", {})}
        process = subprocess.Popen(
            [sys.executable, str(HERE / "in_vllm/vllm_load.py"), json.dumps(told)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=f"{PACKAGE}:{HERE}"),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def answer(process):
    """What it wrote when it had loaded; it has ended."""
    lines = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == 0
    return json.loads(lines[-1])


def refusal(process):
    """The last line that it wrote of what it met; it has ended."""
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and out.replace("reading\n", "") == ""
    return errors.splitlines()[-1]


def refused(*parts):
    from aqua_kv.vllm.description import SharingError

    return pytest.raises(SharingError, match=".*".join(parts))


def making(one, change):
    """Has an engine call `change` with its model once that is made."""
    made = one.hf.model_class()

    def make(config):
        model = made(config)
        change(model)
        return model

    one.hf.model_class = lambda: make
    return one


def reading(one, change):
    """Has an engine call `change` with its model while it reads that."""

    def wrap(model):
        load = model.load

        def change_and_load(config):
            change(model)
            load(config)

        object.__setattr__(model, "load", change_and_load)

    return making(one, wrap)


def mappings_that_are_read_only():
    with open("/proc/self/maps", encoding="ascii") as file:
        lines = [line.split() for line in file]
    return [
        tuple(int(end, 16) for end in line[0].split("-")) for line in lines if line[1][1] == "-"
    ]


def within(tensor, mappings):
    return any(start <= tensor.data_ptr() < end for start, end in mappings)
