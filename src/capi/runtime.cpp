// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/runtime.h"

#include <poll.h>

#include "capi/call.hpp"
#include "capi/callbacks.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

constexpr const char* kClose = "aqua_runtime_close";

Result<RuntimeOptions> to_options(const aqua_runtime_options& c) {
  RuntimeOptions options;
  options.device = string_or_empty(c.device);
  options.coordinator = string_or_empty(c.coordinator);
  options.name = string_or_empty(c.name);
  options.domain = string_or_empty(c.domain);
  options.socket_directory = string_or_empty(c.socket_directory);
  options.curve_directory = string_or_empty(c.curve_directory);
  options.profile = string_or_empty(c.profile);
  if (c.host_bytes != 0) options.host_bytes = c.host_bytes;
  if (c.slab_bytes != 0) options.slab_bytes = c.slab_bytes;
  options.max_peer_bytes = c.max_peer_bytes;
  options.local_bytes = c.local_bytes;
  if (c.reclaim_deadline_ms != 0)
    options.reclaim_deadline = std::chrono::milliseconds(c.reclaim_deadline_ms);
  options.callbacks_in_tick = c.callbacks_in_tick != 0;
  if (c.callbacks != nullptr) {
    AQUA_ASSIGN(const auto callbacks, take_in("aqua_runtime_open: callbacks", c.callbacks));
    options.callbacks = to_callbacks(callbacks);
  }
  if (c.emulated != nullptr) {
    AQUA_ASSIGN(const auto emulated, take_in("aqua_runtime_open: emulated", c.emulated,
                                             aqua_emulated_gpu AQUA_EMULATED_GPU_INIT));
    if (emulated.total_bytes != 0) options.emulated.total_bytes = emulated.total_bytes;
    options.emulated.seed = emulated.seed;
    options.emulated.hostile = emulated.hostile != 0;
    options.emulated.calibrate = emulated.calibrate != 0;
    options.emulated.link_bytes_per_second = emulated.link_bytes_per_second;
    options.emulated.peer_bytes_per_second = emulated.peer_bytes_per_second;
  }
  return options;
}

Error still_alive(std::uint64_t id) {
  return {Code::failed_precondition,
          concat(kClose, ": still alive: ", tensors().count(id), " tensors, ", pins().count(id),
                 " pins, ", pools().count(id), " pools, ", memories().count(id),
                 " emulated memories", others_alive(id), "; free them first")};
}

Result<void> close(std::uint64_t id) {
  if (InCallback::any()) {
    return Error{Code::failed_precondition,
                 concat(kClose, ": not from a callback or kernel, which it would wait for")};
  }
  {
    AQUA_ASSIGN(const auto seen, runtimes().use(kClose, id));
    if (seen.word().keeps() > 0) return still_alive(id);
  }
  AQUA_ASSIGN(const auto last, runtimes().end(kClose, id));
  // No call begins any more; those under way, one of which may make a tensor, end.
  while (last.word().calls() > 1) ::poll(nullptr, 0, 1);
  if (last.word().keeps() > 0) {
    last.word().reopen();
    return still_alive(id);
  }
  return {};  // and `last` destroys it
}

aqua_tier_status to_c(const TierStatus& tier) noexcept {
  return {tier.tensors, tier.tensor_bytes, tier.capacity_bytes};
}

aqua_runtime_status to_c(const RuntimeStatus& status) noexcept {
  aqua_runtime_status c = AQUA_RUNTIME_STATUS_INIT;
  c.local = to_c(status.local);
  c.peer = to_c(status.peer);
  c.host = to_c(status.host);
  c.lost_tensors = status.lost_tensors;
  c.lent_bytes = status.lent_bytes;
  c.held_bytes = status.held_bytes;
  c.promotions = status.promotions;
  c.evacuations = status.evacuations;
  c.promoted_bytes = status.promoted_bytes;
  c.evacuated_bytes = status.evacuated_bytes;
  c.peer_fragmentation = status.peer_fragmentation;
  c.connected = status.connected ? 1 : 0;
  copy_name(c.device, status.device);
  copy_name(c.last_error, status.last_error);
  copy_name(c.not_borrowing, status.not_borrowing);
  c.coordinator_calls = status.coordinator_calls;
  const CopyStatus& ran = status.copies;
  c.copies = {ran.kernel,      ran.batched, ran.each,   ran.unsupported,
              ran.unreachable, ran.full,    ran.refused};
  return c;
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;

extern "C" {

aqua_error* aqua_runtime_open(const aqua_runtime_options* options, aqua_runtime* runtime) {
  return call([&]() -> Result<void> {
    AQUA_CAPI_NOT_NULL("aqua_runtime_open", runtime);
    aqua_runtime_options given = AQUA_RUNTIME_OPTIONS_INIT;
    if (options != nullptr) {
      AQUA_ASSIGN(given, take_in("aqua_runtime_open: options", options));
    }
    AQUA_ASSIGN(const auto wanted, to_options(given));
    AQUA_ASSIGN(auto opened, aqua::Runtime::open(wanted));
    AQUA_ASSIGN(runtime->id, runtimes().insert(0, std::move(opened)));
    return {};
  });
}

aqua_error* aqua_runtime_close(aqua_runtime runtime) {
  return call([&] { return close(runtime.id); });
}

aqua_error* aqua_runtime_get_status(aqua_runtime runtime, aqua_runtime_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_runtime_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    give_out(to_c(used->status()), status);
    return {};
  });
}

aqua_error* aqua_runtime_tick(aqua_runtime runtime) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_tick", runtime.id));
    used->tick();
    return {};
  });
}

}  // extern "C"
