// SPDX-License-Identifier: Apache-2.0
#include "capi/handles/handle.hpp"

#include "base/concat.hpp"

namespace aqua::capi {

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::runtime:
      return "runtime";
    case Kind::tensor:
      return "tensor";
    case Kind::pin:
      return "pin";
    case Kind::layout:
      return "layout";
    case Kind::ticket:
      return "ticket";
    case Kind::reclaim:
      return "reclaim";
    case Kind::pool:
      return "pool";
    case Kind::memory:
      return "emulated memory";
    case Kind::layer_pool:
      return "layer pool";
    case Kind::block_pool:
      return "block pool";
    case Kind::packer:
      return "packer";
    case Kind::weights:
      return "weights";
    case Kind::weights_publisher:
      return "weights publisher";
    case Kind::kv_pool:
      return "KV pool";
    case Kind::streamer:
      return "streamer";
    case Kind::stream_out:
      return "outgoing stream";
    case Kind::stream_in:
      return "incoming stream";
    case Kind::replicator:
      return "replicator";
    case Kind::replica_reader:
      return "replica reader";
    case Kind::microbatch_swap:
      return "microbatch swap";
  }
  return "unknown object";
}

Error bad_handle(const char* what, Kind wanted, std::uint64_t id) {
  const Handle handle{id};
  if (id == 0)
    return {Code::invalid_argument, concat(what, ": the ", name_of(wanted), " handle is zero")};
  if (handle.kind() != wanted) {
    return {Code::invalid_argument, concat(what, ": wants a ", name_of(wanted), ", was given a ",
                                           name_of(handle.kind()), " handle")};
  }
  return {Code::not_found,
          concat(what, ": ", name_of(wanted), " handle ", id, " is freed, or never was one")};
}

Error bad_take(const char* what, Kind wanted, std::uint64_t id, HandleWord::Take outcome) {
  if (outcome == HandleWord::Take::crowded) {
    return {Code::resource_exhausted, concat(what, ": ", HandleWord::kMostCalls, " calls use this ",
                                             name_of(wanted), " already")};
  }
  return bad_handle(what, wanted, id);
}

Error parents_handle(const char* what, Kind wanted) {
  return {Code::failed_precondition,
          concat(what, ": this ", name_of(wanted),
                 " belongs to the parent process; open a runtime after fork()")};
}

Error too_many_handles(Kind kind, std::uint32_t most) {
  return {Code::resource_exhausted, concat("more than ", most, " ", name_of(kind), " handles")};
}

}  // namespace aqua::capi
