# SPDX-License-Identifier: Apache-2.0
"""Structs and calls as Python has them against the headers: by the C compiler, and by reading."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aqua_kv import Code, DeliveryOutcome, ParcelState, Tier, _errors, _library, northbound, packing
from aqua_kv._c import kv_pool_structs as _kv_pool_structs
from aqua_kv._c import layout_structs as _layout_structs
from aqua_kv._c import microbatch_structs as _microbatch_structs
from aqua_kv._c import packer_structs as _packer_structs
from aqua_kv._c import pool_structs as _pool_structs
from aqua_kv._c import replica_structs as _replica_structs
from aqua_kv._c import streamer_structs as _streamer_structs
from aqua_kv._c import structs as _structs
from aqua_kv._c import weights_structs as _weights_structs
from aqua_kv._library import lib
from aqua_kv.kv_stream import metrics

INCLUDE = Path(__file__).parents[2] / "include"
HEADERS = [*sorted((INCLUDE / "aqua/c").glob("*.h")), INCLUDE / "aqua/aqua_emulated.h"]

STRUCTS = {
    "aqua_memory_budget": _structs.CMemoryBudget, "aqua_load_report": _structs.CLoadReport,
    "aqua_load_profile": _structs.CLoadProfile, "aqua_load_band": _structs.CLoadBand,
    "aqua_producer_options": _structs.CProducerOptions,
    "aqua_emulated_gpu": _structs.CEmulatedGpu, "aqua_pinned_tensor": _structs.CPinnedTensor,
    "aqua_callbacks": _structs.CCallbacks, "aqua_runtime_options": _structs.CRuntimeOptions,
    "aqua_tier_status": _structs.CTierStatus, "aqua_copy_status": _structs.CCopyStatus,
    "aqua_runtime_status": _structs.CRuntimeStatus,
    "aqua_tensor_options": _structs.CTensorOptions, "aqua_tensor_info": _structs.CTensorInfo,
    "aqua_pin_info": _structs.CPinInfo, "aqua_layout_spec": _layout_structs.CLayoutSpec,
    "aqua_paged_shape": _layout_structs.CPagedShape,
    "aqua_layout_info": _layout_structs.CLayoutInfo,
    "aqua_kv_range": _layout_structs.CKvRange, "aqua_tensor_pages": _layout_structs.CTensorPages,
    "aqua_reclaim_progress": _structs.CReclaimProgress, "aqua_holder": _structs.CHolder,
    "aqua_pool_options": _structs.CPoolOptions, "aqua_pool_info": _structs.CPoolInfo,
    "aqua_runtime": _structs.RuntimeHandle, "aqua_tensor": _structs.TensorHandle,
    "aqua_pin": _structs.PinHandle, "aqua_layout": _structs.LayoutHandle,
    "aqua_ticket": _structs.TicketHandle, "aqua_reclaim": _structs.ReclaimHandle,
    "aqua_block_move": _pool_structs.CBlockMove,
    "aqua_block_pool_info": _pool_structs.CBlockPoolInfo,
    "aqua_layer_pool_change": _pool_structs.CLayerPoolChange,
    "aqua_layer_pool_options": _pool_structs.CLayerPoolOptions,
    "aqua_layer_pool_status": _pool_structs.CLayerPoolStatus,
    "aqua_step_load": _pool_structs.CStepLoad,
    "aqua_layer_pool": _pool_structs.LayerPoolHandle,
    "aqua_block_pool": _pool_structs.BlockPoolHandle,
    "aqua_packer": _packer_structs.PackerHandle,
    "aqua_packer_options": _packer_structs.CPackerOptions,
    "aqua_packer_engine": _packer_structs.CPackerEngine,
    "aqua_packer_request": _packer_structs.CPackerRequest,
    "aqua_packer_placement": _packer_structs.CPackerPlacement,
    "aqua_packer_move": _packer_structs.CPackerMove,
    "aqua_packer_preemption": _packer_structs.CPackerPreemption,
    "aqua_packer_certificate": _packer_structs.CPackerCertificate,
    "aqua_packer_plan": _packer_structs.CPackerPlan,
    "aqua_packer_engine_status": _packer_structs.CPackerEngineStatus,
    "aqua_packer_request_status": _packer_structs.CPackerRequestStatus,
    "aqua_packer_status": _packer_structs.CPackerStatus,
    "aqua_packer_engine_boundary": _packer_structs.CPackerEngineBoundary,
    "aqua_packer_server_boundary": _packer_structs.CPackerServerBoundary,
    "aqua_weights": _weights_structs.WeightsHandle,
    "aqua_weights_publisher": _weights_structs.WeightsPublisherHandle,
    "aqua_weights_options": _weights_structs.CWeightsOptions,
    "aqua_weights_info": _weights_structs.CWeightsInfo,
    "aqua_weight_tensor": _weights_structs.CWeightTensor,
    "aqua_weight_spec": _weights_structs.CWeightSpec,
    "aqua_kv_pool": _kv_pool_structs.KvPoolHandle,
    "aqua_kv_pool_shape": _kv_pool_structs.CKvPoolShape,
    "aqua_kv_pool_options": _kv_pool_structs.CKvPoolOptions,
    "aqua_kv_pool_status": _kv_pool_structs.CKvPoolStatus,
    "aqua_parcel": _kv_pool_structs.CParcel,
    "aqua_undelivered": _kv_pool_structs.CUndelivered,
    "aqua_parcel_head": _kv_pool_structs.CParcelHead,
    "aqua_delivery": _kv_pool_structs.CDelivery,
    "aqua_streamer": _streamer_structs.StreamerHandle,
    "aqua_stream_out": _streamer_structs.StreamOutHandle,
    "aqua_stream_in": _streamer_structs.StreamInHandle,
    "aqua_kv_shape": _streamer_structs.CKvShape,
    "aqua_parallelism": _streamer_structs.CParallelism,
    "aqua_stream_group": _streamer_structs.CStreamGroup,
    "aqua_streamer_options": _streamer_structs.CStreamerOptions,
    "aqua_streamer_status": _streamer_structs.CStreamerStatus,
    "aqua_stream_out_options": _streamer_structs.CStreamOutOptions,
    "aqua_arrived": _streamer_structs.CArrived,
    "aqua_cut_off": _streamer_structs.CCutOff,
    "aqua_replicator": _replica_structs.ReplicatorHandle,
    "aqua_replica_reader": _replica_structs.ReplicaReaderHandle,
    "aqua_replica_owner": _replica_structs.CReplicaOwner,
    "aqua_replicator_options": _replica_structs.CReplicatorOptions,
    "aqua_replicator_status": _replica_structs.CReplicatorStatus,
    "aqua_written_tokens": _replica_structs.CWrittenTokens,
    "aqua_replica_reader_options": _replica_structs.CReplicaReaderOptions,
    "aqua_replica_reader_status": _replica_structs.CReplicaReaderStatus,
    "aqua_restore_options": _replica_structs.CRestoreOptions,
    "aqua_microbatch_swap": _microbatch_structs.MicrobatchSwapHandle,
    "aqua_microbatch_swap_options": _microbatch_structs.CMicrobatchSwapOptions,
    "aqua_microbatch_swap_status": _microbatch_structs.CMicrobatchSwapStatus,
    "aqua_pool": _structs.PoolHandle, "aqua_emulated_memory": _structs.MemoryHandle,
}


def headers() -> str:
    text = "\n".join(header.read_text() for header in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def prototypes() -> "dict[str, list[str]]":
    """Each function of the headers, with its parameters as written."""
    found = {}
    for match in re.finditer(r"AQUA_(?:API|CALL)\s[^;{]*?\b(aqua_\w+)\(([^;]*)\);", headers()):
        parameters, depth, word = [], 0, ""
        for c in match.group(2) + ",":
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parameters.append(" ".join(word.split()))
                word = ""
            else:
                word += c
        found[match.group(1)] = [] if parameters == ["void"] else parameters
    return found


def test_every_function_of_the_headers_is_declared_and_no_other():
    assert sorted(prototypes()) == sorted([*_library.CALLS, *_library.QUERIES])


def test_every_struct_of_the_headers_is_known():
    assert set(re.findall(r"typedef struct (aqua_\w+) \{", headers())) == set(STRUCTS)


@pytest.mark.parametrize("name", sorted([*_library.CALLS, *_library.QUERIES]))
def test_parameters_are_of_the_same_kind(name):
    ours = _library.CALLS.get(name) or _library.QUERIES.get(name, (None, []))[1]
    theirs = prototypes()[name]
    assert len(ours) == len(theirs)
    for declared, written in zip(ours, theirs):
        assert kind_of_ctype(declared) == kind_of_c(written), written


def kind_of_c(written: str) -> str:
    if "(*" in written:
        return "function"
    pointer = re.match(r"(?:const )?(?:struct )?(\w+)(?: const)?\s*\*", written)
    if pointer:
        base = pointer.group(1)
        if written.count("*") >= 2 or base in ("void", "uint32_t", "uint64_t", "size_t", "int",
                                              "aqua_error", "aqua_tier", "aqua_stream", "char",
                                              "aqua_packer_send_as", "aqua_parcel_state"):
            return "pointer"
        return "pointer to " + base
    base = written.rsplit(" ", 1)[0].replace("const ", "")
    same = {"aqua_stream": "size_t", "aqua_access": "uint32_t", "aqua_code": "uint32_t",
            "aqua_tier": "uint32_t", "aqua_budget_reason": "uint32_t",
            "aqua_packer_reason": "uint32_t", "aqua_packer_ways": "uint32_t",
            "uint64_t": "size_t"}  # one type to ctypes
    return same.get(base, base)


def kind_of_ctype(declared) -> str:
    names = {struct: name for name, struct in STRUCTS.items()}
    if declared in names:
        return names[declared]
    if declared in (ctypes.c_void_p, ctypes.c_char_p):
        return "pointer"
    if declared in (_structs.KernelFunction, _streamer_structs.WantedFunction):
        return "function"
    if hasattr(declared, "contents"):
        base = declared._type_
        return "pointer to " + names[base] if base in names else "pointer"
    return {ctypes.c_size_t: "size_t", ctypes.c_uint32: "uint32_t", ctypes.c_int: "int"}[declared]


def test_the_compiler_finds_every_field_where_python_has_it(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    lines = ['#include "aqua/aqua_emulated.h"']
    for name, struct in STRUCTS.items():
        # A newer header may have more at the end; what is there stays where it is.
        lines.append(f"_Static_assert(sizeof({name}) >= {ctypes.sizeof(struct)}, \"{name}\");")
        if not hasattr(struct, "struct_size"):
            lines.append(f"_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, \"{name}\");")
        for field, _ in struct._fields_:
            place = getattr(struct, field)
            lines.append(
                f"_Static_assert(offsetof({name}, {field}) == {place.offset} && "
                f"sizeof((({name}*)0)->{field}) == {place.size}, \"{name}.{field}\");"
            )
    for code in Code:
        lines.append(f'_Static_assert(AQUA_{code.name} == {code.value}, "{code.name}");')
    for tier in Tier:
        lines.append(f'_Static_assert(AQUA_TIER_{tier.name} == {tier.value}, "{tier.name}");')
    for reason in northbound.BudgetReason:
        lines.append(f'_Static_assert(AQUA_BUDGET_{reason.name} == {reason.value}, "reason");')
    for parcel_state in ParcelState:
        lines.append(f'_Static_assert(AQUA_PARCEL_{parcel_state.name} == {parcel_state.value}, "state");')
    for outcome in DeliveryOutcome:
        lines.append(f'_Static_assert(AQUA_DELIVERY_{outcome.name} == {outcome.value}, "outcome");')
    lines.append(f'_Static_assert(AQUA_MAX_NOTE_BYTES == {_kv_pool_structs.MAX_NOTE_BYTES}, "note");')
    lines.append(f'_Static_assert(AQUA_MAX_WORDS_BYTES == {_streamer_structs.MAX_WORDS_BYTES}, "words");')
    lines.append(f'_Static_assert(AQUA_MAX_SAMPLER_BYTES == {_replica_structs.MAX_SAMPLER_BYTES}, "sampler");')
    lines.append(f'_Static_assert(AQUA_NEXT_IN_ORDER == {_microbatch_structs.NEXT_IN_ORDER}U, "next");')
    for kind in (packing.Reason, packing.EngineState, packing.RequestState, packing.SendAs,
                 packing.Ways):
        for one in kind:
            lines.append(f'_Static_assert(AQUA_PACKER_{one.name} == {one.value}, "{one.name}");')
    source = tmp_path / "check.c"
    source.write_text("\n".join(lines) + "\n")
    told = subprocess.run(
        [compiler, "-std=c11", "-fsyntax-only", f"-I{INCLUDE}", str(source)],
        capture_output=True, text=True,
    )
    assert told.returncode == 0, told.stderr


def test_every_code_has_the_librarys_name():
    for code in Code:
        assert lib.aqua_code_name(code).decode() == code.name.lower()
    assert lib.aqua_code_name(len(Code)) == b"unknown"


def test_every_tier_and_reason_has_the_librarys_name():
    for tier in Tier:
        assert lib.aqua_tier_name(tier).decode() == tier.name.lower()
    assert lib.aqua_tier_name(len(Tier)) == b"unknown"
    for reason in northbound.BudgetReason:
        assert lib.aqua_budget_reason_name(reason).decode() == reason.name.lower()
    assert lib.aqua_budget_reason_name(len(northbound.BudgetReason)) == b"unknown"
    for why in packing.Reason:
        assert lib.aqua_packer_reason_name(why).decode() == str(why)
    assert lib.aqua_packer_reason_name(len(packing.Reason)) == b"unknown"


def test_the_defaults_of_a_producer_are_the_headers():
    init = headers().split("#define AQUA_PRODUCER_OPTIONS_INIT")[1].split("AQUA_CALL")[0]
    written = [float(x) for x in re.findall(r"(?<![\w.])\d[\d.]*", init)]
    ours = northbound.ProducerOptions()
    *numbers, shifted, by = written
    assert [*vars(ours.rise).values(), *vars(ours.settle).values(), ours.settle_ms,
            ours.min_ms_between_flips, ours.headroom] == numbers
    assert ours.min_offer_bytes == int(shifted) << int(by)


def test_metrics_of_streams_and_replicas_have_the_headers_names():
    names = re.compile(r'"(aqua_engine_\w+)"')
    named = names.findall((INCLUDE / "aqua/kv_stream/metrics.hpp").read_text())
    assert named and names.findall(Path(metrics.__file__).read_text()) == named


def test_a_code_of_a_newer_library_is_still_an_error(monkeypatch):
    class Newer:
        aqua_error_code = staticmethod(lambda error: 99)
        aqua_error_message = staticmethod(lambda error: b"later")
        aqua_error_free = staticmethod(lambda error: None)

    monkeypatch.setattr(_errors, "lib", Newer)
    with pytest.raises(_errors.Error) as raised:
        _errors.raise_error(1)
    assert raised.value.code is Code.INTERNAL and raised.value.message == "later"
