// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/lending.h"

#include "capi/call.hpp"
#include "capi/objects.hpp"
#include "capi/open_runtime.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

aqua_reclaim_progress to_c(const ReclaimProgress& progress) noexcept {
  return {sizeof(aqua_reclaim_progress),
          progress.bytes_wanted,
          progress.bytes_returned,
          progress.slabs_returned,
          static_cast<std::uint64_t>(progress.first_slab.count()),
          static_cast<std::uint64_t>(progress.last_slab.count()),
          static_cast<std::uint32_t>(progress.holders.size()),
          progress.done ? 1u : 0u};
}

Result<void> start(Runtime& runtime, std::uint64_t runtime_id, std::size_t bytes,
                   std::uint32_t deadline_ms, aqua_reclaim* reclaim) {
  constexpr const char* what = "aqua_runtime_reclaim";
  const std::chrono::milliseconds deadline(deadline_ms);
  if (reclaim == nullptr) {
    AQUA_TRY(runtime.reclaim(bytes, deadline));
    return {};
  }
  // The handle first: once it has begun nothing may fail any more.
  AQUA_ASSIGN(const std::uint64_t id,
              reclaims().insert(runtime_id, ReclaimObject{runtime_id, Reclaim()}));
  AQUA_ASSIGN(const auto made, reclaims().use(what, id));
  auto begun = runtime.reclaim(bytes, deadline);
  if (!begun.ok()) {
    (void)reclaims().end(what, id);
    return std::move(begun).error();
  }
  made->reclaim = std::move(begun).value();
  reclaim->id = id;
  return {};
}

Result<void> wait(aqua_reclaim reclaim, aqua_reclaim_progress* progress) {
  constexpr const char* what = "aqua_reclaim_wait";
  if (progress != nullptr) AQUA_TRY(check_size(what, progress));
  AQUA_ASSIGN(const auto asked, reclaims().use(what, reclaim.id));
  AQUA_ASSIGN(const auto open, keep_open(what, asked->runtime));
  if (!open && !asked->reclaim.progress().done) {
    return Error{Code::failed_precondition, concat(what,
                                                   ": its runtime was closed before it was "
                                                   "done")};
  }
  AQUA_ASSIGN(const auto outcome, asked->reclaim.wait());
  if (progress != nullptr) give_out(to_c(outcome), progress);
  return {};
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

extern "C" {

aqua_error* aqua_runtime_lend(aqua_runtime runtime, size_t bytes) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_lend", runtime.id));
    return used->lend(bytes);
  });
}

aqua_error* aqua_runtime_reclaim(aqua_runtime runtime, size_t bytes, uint32_t deadline_ms,
                                 aqua_reclaim* reclaim) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_reclaim", runtime.id));
    return start(*used, runtime.id, bytes, deadline_ms, reclaim);
  });
}

aqua_error* aqua_reclaim_get_progress(aqua_reclaim reclaim, aqua_reclaim_progress* progress) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_reclaim_get_progress";
    AQUA_TRY(check_size(what, progress));
    AQUA_ASSIGN(const auto asked, reclaims().use(what, reclaim.id));
    give_out(to_c(asked->reclaim.progress()), progress);
    return {};
  });
}

aqua_error* aqua_reclaim_get_holder(aqua_reclaim reclaim, size_t index, aqua_holder* holder) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_reclaim_get_holder";
    AQUA_TRY(check_size(what, holder));
    AQUA_ASSIGN(const auto asked, reclaims().use(what, reclaim.id));
    const auto progress = asked->reclaim.progress();
    if (index >= progress.holders.size()) {
      return Error{Code::not_found,
                   aqua::concat(what, ": holder ", index, " of ", progress.holders.size())};
    }
    const aqua::Holder& found = progress.holders[index];
    aqua_holder told = AQUA_HOLDER_INIT;
    told.bytes = found.bytes;
    told.pid = found.pid;
    told.slab = found.slab;
    copy_name(told.name, found.name);
    give_out(told, holder);
    return {};
  });
}

aqua_error* aqua_reclaim_wait(aqua_reclaim reclaim, aqua_reclaim_progress* progress) {
  return call([&] { return wait(reclaim, progress); });
}

aqua_error* aqua_reclaim_free(aqua_reclaim reclaim) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, reclaims().end("aqua_reclaim_free", reclaim.id));
    return {};
  });
}

}  // extern "C"
