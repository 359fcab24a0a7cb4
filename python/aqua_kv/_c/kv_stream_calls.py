# SPDX-License-Identifier: Apache-2.0
"""What returns an error object of streamer.h, replicator.h, replica_reader.h and microbatch_swap.h,
and its parameters, as _library.py has the others."""

from __future__ import annotations

from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from . import microbatch_structs as m
from . import replica_structs as r
from . import streamer_structs as st
from . import structs as s

_OUT_SIZE = POINTER(c_size_t)
_OUT_INT = POINTER(c_int)
_OUT_UINT32 = POINTER(c_uint32)

CALLS: "dict[str, list[Any]]" = {
    "aqua_streamer_open": [
        s.RuntimeHandle, s.LayoutHandle, POINTER(st.CStreamerOptions), POINTER(st.StreamerHandle),
    ],
    "aqua_streamer_free": [st.StreamerHandle],
    "aqua_streamer_get_status": [st.StreamerHandle, POINTER(st.CStreamerStatus)],
    "aqua_streamer_wait": [st.StreamerHandle, c_uint32, _OUT_INT],
    "aqua_streamer_stream_out": [
        st.StreamerHandle, POINTER(st.CStreamOutOptions), POINTER(st.StreamOutHandle),
    ],
    "aqua_stream_out_ready": [st.StreamOutHandle, _OUT_INT],
    "aqua_stream_out_set_blocks": [st.StreamOutHandle, c_void_p, c_size_t],
    "aqua_stream_out_layer": [st.StreamOutHandle, c_uint32, c_size_t],
    "aqua_stream_out_finish": [st.StreamOutHandle, c_void_p, c_size_t, c_size_t],
    "aqua_stream_out_copied": [st.StreamOutHandle, _OUT_INT],
    "aqua_stream_out_kept": [st.StreamOutHandle, _OUT_INT],
    "aqua_stream_out_landed": [st.StreamOutHandle, _OUT_INT],
    "aqua_stream_out_cancel": [st.StreamOutHandle],
    "aqua_stream_out_free": [st.StreamOutHandle],
    "aqua_streamer_admit": [st.StreamerHandle, c_char_p, c_uint32],
    "aqua_streamer_arrived": [
        st.StreamerHandle, st.WantedFunction, c_void_p, POINTER(POINTER(POINTER(st.CArrived))),
        _OUT_SIZE,
    ],
    "aqua_streamer_stream_in": [
        st.StreamerHandle, c_uint64, c_void_p, c_size_t, c_size_t, POINTER(st.StreamInHandle),
    ],
    "aqua_stream_in_done": [st.StreamInHandle, _OUT_INT],
    "aqua_stream_in_wait": [st.StreamInHandle],
    "aqua_stream_in_layer_done": [st.StreamInHandle, c_uint32, _OUT_INT],
    "aqua_stream_in_stream_wait": [st.StreamInHandle, c_size_t, c_uint32],
    "aqua_stream_in_free": [st.StreamInHandle],
    "aqua_streamer_finish": [st.StreamerHandle, c_uint64, c_size_t, _OUT_INT],
    "aqua_streamer_superseded": [st.StreamerHandle, POINTER(POINTER(c_uint64)), _OUT_SIZE],
    "aqua_streamer_cut_off": [
        st.StreamerHandle, POINTER(POINTER(POINTER(st.CCutOff))), _OUT_SIZE,
    ],
    "aqua_replicator_create": [
        s.RuntimeHandle, s.LayoutHandle, POINTER(r.CReplicatorOptions), POINTER(r.ReplicatorHandle),
    ],
    "aqua_replicator_free": [r.ReplicatorHandle],
    "aqua_replicator_get_status": [r.ReplicatorHandle, POINTER(r.CReplicatorStatus)],
    "aqua_replicator_step": [
        r.ReplicatorHandle, POINTER(POINTER(r.CWrittenTokens)), c_size_t, c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_replicator_flush": [r.ReplicatorHandle, c_size_t],
    "aqua_replicator_without_blocks": [r.ReplicatorHandle, c_uint64],
    "aqua_replicator_finish": [r.ReplicatorHandle, c_uint64],
    "aqua_replicator_seal": [r.ReplicatorHandle],
    "aqua_replicator_resume": [r.ReplicatorHandle, c_uint64],
    "aqua_replicator_adopt": [r.ReplicatorHandle, r.ReplicaReaderHandle, c_uint64],
    "aqua_replicator_reconnect": [r.ReplicatorHandle],
    "aqua_replicator_poll": [r.ReplicatorHandle],
    "aqua_replicator_wait": [r.ReplicatorHandle, c_uint32, _OUT_INT],
    "aqua_replicator_get_watermark": [r.ReplicatorHandle, c_uint64, _OUT_UINT32],
    "aqua_replicator_unprotected": [r.ReplicatorHandle, POINTER(POINTER(c_uint64)), _OUT_SIZE],
    "aqua_replica_reader_open": [
        s.RuntimeHandle, POINTER(r.CReplicaReaderOptions), POINTER(r.ReplicaReaderHandle),
    ],
    "aqua_replica_reader_free": [r.ReplicaReaderHandle],
    "aqua_replica_reader_get_status": [r.ReplicaReaderHandle, POINTER(r.CReplicaReaderStatus)],
    "aqua_replica_reader_sequences": [
        r.ReplicaReaderHandle, POINTER(POINTER(c_uint64)), _OUT_SIZE,
    ],
    "aqua_replica_reader_get_watermark": [
        r.ReplicaReaderHandle, c_uint64, c_void_p, c_size_t, c_uint32, _OUT_UINT32,
    ],
    "aqua_replica_reader_get_sampler": [
        r.ReplicaReaderHandle, c_uint64, c_void_p, c_size_t, c_void_p, c_size_t, _OUT_SIZE,
        _OUT_UINT32,
    ],
    "aqua_replica_reader_restore": [
        r.ReplicaReaderHandle, s.LayoutHandle, POINTER(r.CRestoreOptions), c_size_t,
        POINTER(s.TicketHandle),
    ],
    "aqua_replica_reader_finish": [r.ReplicaReaderHandle, c_size_t],
    "aqua_replica_reader_drop_other_lives": [r.ReplicaReaderHandle],
    "aqua_microbatch_swap_create": [
        s.RuntimeHandle, POINTER(m.CMicrobatchSwapOptions), POINTER(m.MicrobatchSwapHandle),
    ],
    "aqua_microbatch_swap_free": [m.MicrobatchSwapHandle],
    "aqua_microbatch_swap_get_status": [m.MicrobatchSwapHandle, POINTER(m.CMicrobatchSwapStatus)],
    "aqua_microbatch_swap_begin_turn": [
        m.MicrobatchSwapHandle, c_size_t, c_uint32, c_uint32, _OUT_UINT32,
    ],
    "aqua_microbatch_swap_end_turn": [
        m.MicrobatchSwapHandle, c_void_p, c_size_t, POINTER(c_uint64),
    ],
    "aqua_microbatch_swap_turn_done": [m.MicrobatchSwapHandle, c_uint64, _OUT_INT],
    "aqua_microbatch_swap_drop": [m.MicrobatchSwapHandle, c_uint32, c_void_p, c_size_t],
    "aqua_microbatch_swap_clear": [m.MicrobatchSwapHandle, c_uint32],
}
