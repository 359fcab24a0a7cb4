#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each struct of the C ABI has the fields of its C++ twin, and the other way round.

Usage: fields_test.py ROOT [unittest's arguments]
"""
import pathlib
import re
import sys
import unittest

TWINS = {
    "aqua_emulated_gpu": "EmulatedGpuOptions",
    "aqua_callbacks": "Callbacks",
    "aqua_runtime_options": "RuntimeOptions",
    "aqua_tier_status": "TierStatus",
    "aqua_copy_status": "CopyStatus",
    "aqua_runtime_status": "RuntimeStatus",
    "aqua_tensor_options": "TensorOptions",
    "aqua_memory_budget": "MemoryBudget",
    "aqua_load_report": "LoadReport",
    "aqua_load_profile": "LoadProfile",
    "aqua_load_band": "LoadBand",
    "aqua_producer_options": "ProducerOptions",
    "aqua_reclaim_progress": "ReclaimProgress",
    "aqua_pool_options": "ElasticPoolOptions",
    "aqua_tensor_pages": "TensorPages",
    "aqua_block_move": "BlockMove",
    "aqua_layer_pool_change": "LayerPoolResize",
    "aqua_layer_pool_options": "LayerPoolOptions",
    "aqua_layer_pool_status": "LayerPoolStatus",
    "aqua_step_load": "StepLoad",
    "aqua_weights_options": "WeightsOptions",
    "aqua_kv_pool_shape": "KvPoolShape",
    "aqua_kv_pool_options": "KvPoolOptions",
    "aqua_kv_pool_status": "KvPoolStatus",
    "aqua_parcel": "Parcel",
    "aqua_undelivered": "Undelivered",
    "aqua_parcel_head": "ParcelHead",
    "aqua_delivery": "Delivery",
    "aqua_kv_shape": "KvShape",
    "aqua_parallelism": "Parallelism",
    "aqua_stream_group": "StreamGroup",
    "aqua_streamer_options": "StreamerOptions",
    "aqua_streamer_status": "StreamerStatus",
    "aqua_stream_out_options": "StreamOutOptions",
    "aqua_arrived": "Arrived",
    "aqua_cut_off": "CutOff",
    "aqua_replica_owner": "ReplicaOwner",
    "aqua_replicator_options": "ReplicatorOptions",
    "aqua_replicator_status": "ReplicatorStatus",
    "aqua_written_tokens": "WrittenTokens",
    "aqua_replica_reader_options": "ReplicaReaderOptions",
    "aqua_replica_reader_status": "ReplicaReaderStatus",
    "aqua_microbatch_swap_options": "MicrobatchSwapOptions",
    "aqua_microbatch_swap_status": "MicrobatchSwapStatus",
    "aqua_packer_options": "PackerOptions",
    "aqua_packer_engine": "EngineSpec",
    "aqua_packer_request": "RequestSpec",
    "aqua_packer_placement": "Placement",
    "aqua_packer_move": "Move",
    "aqua_packer_preemption": "Preemption",
    "aqua_packer_certificate": "Certificate",
    "aqua_packer_plan": "Plan",
    "aqua_packer_engine_status": "EngineStatus",
    "aqua_packer_request_status": "RequestStatus",
    "aqua_packer_status": "PackerStatus",
    "aqua_packer_engine_boundary": "EngineBoundary",
    "aqua_packer_server_boundary": "ServerBoundary",
}
# How C is called. A C++ duration is a C number of milli- or microseconds, with the unit in its name.
OF_C = {"struct_size", "user"}
# The same under another name, by struct of either language.
OTHERWISE = {
    "aqua_load_report": {f"time_{what}_p{n}" for what in ("to_first_token", "per_output_token") for n in (50, 99)},
    "LoadReport": {"time_to_first_token", "time_per_output_token"},
    "aqua_producer_options": {"min_ms_between_flips"},
    "ProducerOptions": {"settle_time", "min_time_between_flips"},
    "aqua_parcel": {"block_count", "note_bytes"},
    "Parcel": {"from", "given", "segment"},  # of carriers between caches, which C does not have
    "aqua_undelivered": {"code", "message"},  # of an error
    "Undelivered": {"error"},
    "aqua_delivery": {"code", "message"},
    "Delivery": {"error"},
    "aqua_layer_pool_change": {"preempt_count", "moved_count"},
    "aqua_parallelism": {"stage_layer_count", "head_count"},
    "aqua_stream_group": {"shape", "parallelism"},
    "StreamGroup": {"shards"},
    # The carrier's fields, which in C every streamer has.
    "aqua_streamer_options": {"shape", "parallelism", "other_count", "name", "keeper", "parcel_bytes", "ready"},
    "StreamerOptions": {"shards"},
    "aqua_streamer_status": {"giving", "taken", "ready", "connected", "keeper_error"},
    "aqua_stream_out_options": {"block_count"},
    "aqua_arrived": {"words_bytes"},
    "aqua_written_tokens": {"block_count", "id_count", "sampler_bytes"},
    "aqua_microbatch_swap_options": {"buffer_count"},
    "aqua_packer_plan": {f"{what}_count" for what in
                         ("preemption", "wake", "move", "placement", "freed", "drained", "too_large")},
    "aqua_packer_engine_boundary": {"engine"},  # keys of the C++ maps
    "aqua_packer_server_boundary": {"server"},
}
# Structs of C alone, in place of what a C++ object answers: handles, and what they tell of
# themselves.
HANDLES = {"runtime", "tensor", "pin", "ticket", "layout", "pool", "reclaim", "layer_pool", "block_pool", "packer",
           "weights", "weights_publisher", "kv_pool", "streamer", "stream_out", "stream_in", "replicator",
           "replica_reader", "microbatch_swap"}
TOLD = {"tensor_info", "pin_info", "pool_info", "layout_info", "layout_spec", "paged_shape", "kv_range", "pinned_tensor", "holder",
        "block_pool_info", "weights_info", "weight_tensor", "weight_spec", "restore_options"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def body_of(text, name):
    """What stands between the braces of a struct."""
    found = re.search(rf"\bstruct {name}\s*\{{", text)
    if not found:
        return None
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[found.end():at - 1]


def fields_of(body):
    """The names of data members; of functions none."""
    names = set()
    flat = body
    while re.search(r"\{[^{}]*\}|<[^<>]*>|\[[^\[\]]*\]", flat):  # initialisers, parameters of templates, extents
        flat = re.sub(r"\{[^{}]*\}|<[^<>]*>|\[[^\[\]]*\]", " ", flat)
    for part in flat.split(";"):
        part = re.sub(r"=[^,]*", " ", part).strip()
        pointer = re.search(r"\(\*(\w+)\)", part)
        if pointer:
            names.add(pointer.group(1))
        elif part and "(" not in part and not part.startswith(("enum", "friend", "static", "using")):
            names.update(re.search(r"(\w+)\s*$", one).group(1) for one in part.split(",") if one.strip())
    return {re.sub(r"_(ms|us)$", "", name) for name in names}


class Fields(unittest.TestCase):
    def test_those_of_c_are_those_of_cpp(self):
        include = ROOT / "include/aqua"
        c = without_comments("\n".join(p.read_text() for p in sorted(include.glob("c/*.h"))))
        text = {path: without_comments(path.read_text()) for path in sorted(include.rglob("*.hpp"))}
        for name, twin in TWINS.items():
            with self.subTest(name):
                # A plan is also one of pipelines: packers have their names from a folder of their own.
                of = include / "packing" if name.startswith("aqua_packer_") else include
                cpp = "\n".join(one for path, one in text.items() if path.is_relative_to(of))
                bodies = body_of(c, name), body_of(cpp, twin)
                self.assertNotIn(None, bodies)
                ours, theirs = map(fields_of, bodies)
                self.assertGreater(len(ours), 1)
                self.assertEqual(ours - OF_C - OTHERWISE.get(name, set()), theirs - OTHERWISE.get(twin, set()))

    def test_a_struct_without_a_twin_is_named_here(self):
        c = "\n".join(p.read_text() for p in (ROOT / "include/aqua/c").glob("*.h"))
        found = set(re.findall(r"typedef struct (aqua_\w+) \{", c))
        self.assertEqual(found - set(TWINS), {f"aqua_{name}" for name in HANDLES | TOLD})


ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()

if __name__ == "__main__":
    unittest.main()
