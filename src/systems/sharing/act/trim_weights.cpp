// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/trim_weights.hpp"

#include <chrono>

#include "aqua/published_memory.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/trim_order.hpp"

namespace aqua::sharing {
namespace {

constexpr std::chrono::seconds kFreeingPatience{10};

// Something else was faster: somebody has begun to read it, has dropped it, or is publishing it.
bool is_overtaken(Code code) {
  return code == Code::failed_precondition || code == Code::not_found;
}

// Shards that host memory did not have.
struct Copied {
  std::size_t here = 0;    // by this process
  bool by_others = false;  // meanwhile
};

// To host memory, unless somebody else has brought it there. Counts what is there by now.
Result<void> copy_missing(const Unread& version, Runtime& device, Runtime& host,
                          const TrimOptions& options, Copied& copied) {
  for (const std::uint32_t shard : version.missing) {
    const auto done = copy_weights(host, {.model = version.model,
                                          .version = version.version,
                                          .shard = shard,
                                          .shards = version.shards,
                                          .source = &device,
                                          .keeper = options.keeper});
    if (done.ok()) {
      ++copied.here;
    } else if (done.error().code == Code::already_exists) {
      copied.by_others = true;
    } else {
      return done.error();
    }
  }
  return {};
}

Result<void> move(const Unread& version, Runtime& device, Runtime& host,
                  const TrimOptions& options) {
  const auto drop_from = [&](const std::string& place) {
    return drop_copies(version.model, version.version, place, options.keeper);
  };
  Copied copied;
  Result<void> moved = copy_missing(version, device, host, options, copied);
  if (moved.ok()) {
    step("drop");
    moved = drop_from(PublishedMemory::device_of(device));
  }
  // What was copied in vain does not stay, if all that host memory has of it was copied here.
  if (!moved.ok() && copied.here > 0 && !copied.by_others && !version.host_has_some) {
    (void)drop_from(PublishedMemory::host_device());
  }
  return moved;
}

}  // namespace

Result<std::vector<TrimmedVersion>> trim_weights(Runtime& device, Runtime& host,
                                                 const TrimOptions& options) {
  if (options.bytes == 0) return Error{Code::invalid_argument, "trim: no bytes are asked for"};
  const std::string from = PublishedMemory::device_of(device);
  if (PublishedMemory::device_of(host) != PublishedMemory::host_device() ||
      from == PublishedMemory::host_device()) {
    return Error{Code::invalid_argument,
                 "trim: from a device to a runtime on \"host\", and not between others"};
  }
  AQUA_ASSIGN(const auto copies, list_copies(options.keeper));
  std::vector<TrimmedVersion> moved;
  std::uint64_t bytes = 0;
  for (const Unread& version : trim_order(copies, from)) {
    if (bytes >= options.bytes) break;
    if (options.on_move) options.on_move(version.model, version.version);
    if (const auto done = move(version, device, host, options); !done.ok()) {
      if (is_overtaken(done.error().code)) continue;
      return Error{done.error().code, concat("trim: ", bytes, " of ", options.bytes,
                                             " bytes were given back: ", version.model, " ",
                                             version.version, ": ", done.error().message)};
    }
    bytes += version.bytes;
    moved.push_back({version.model, version.version, version.bytes});
  }
  // An older keeper, which does not know the question, has freed them before it answered.
  if (!moved.empty()) (void)bytes_being_freed(options.keeper, kFreeingPatience);
  return moved;
}

}  // namespace aqua::sharing
