// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/capi/objects.hpp"

#include "systems/kv_stream/capi/microbatch_objects.hpp"
#include "systems/kv_stream/capi/replica_objects.hpp"

namespace aqua::capi {
namespace {

// Constant-initialised and without destructors, as those of src/capi.
constinit StreamerTable all_streamers;
constinit StreamOutTable all_stream_outs;
constinit StreamInTable all_stream_ins;
constinit ReplicatorTable all_replicators;
constinit ReplicaReaderTable all_replica_readers;
constinit MicrobatchSwapTable all_microbatch_swaps;

}  // namespace

StreamerTable& streamers() noexcept {
  return all_streamers;
}
StreamOutTable& stream_outs() noexcept {
  return all_stream_outs;
}
StreamInTable& stream_ins() noexcept {
  return all_stream_ins;
}
ReplicatorTable& replicators() noexcept {
  return all_replicators;
}
ReplicaReaderTable& replica_readers() noexcept {
  return all_replica_readers;
}
MicrobatchSwapTable& microbatch_swaps() noexcept {
  return all_microbatch_swaps;
}

ArrivedRow::ArrivedRow(const kv_stream::Arrived& arrived) noexcept
    : c{sizeof(aqua_arrived), arrived.sequence, arrived.words.data(),
        arrived.words.size(), arrived.attempt,  arrived.tokens} {}

Result<void> check_may_call(const char* what, const LockedStreamer& locked) {
  if (locked.in_wanted) {
    return Error{Code::failed_precondition,
                 concat(what, ": not from `wanted`, for which a call on the streamer waits")};
  }
  if (locked.interrupted) {
    return Error{Code::aborted,
                 concat(what, ": memory ran out in the middle of an earlier call; free the ",
                        "streamer and its streams, and open another one")};
  }
  return {};
}

}  // namespace aqua::capi
