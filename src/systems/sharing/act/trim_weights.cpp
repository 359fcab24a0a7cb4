// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/trim_weights.hpp"

#include "aqua/published_memory.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/trim_order.hpp"

namespace aqua::sharing {
namespace {

// Something else was faster: somebody publishes the same, or has begun to read it.
bool is_overtaken(Code code) {
  return code == Code::already_exists || code == Code::failed_precondition ||
         code == Code::not_found;
}

Result<void> try_to_move(const Unread& version, Runtime& device, Runtime& host,
                         const TrimOptions& options) {
  for (const std::uint32_t shard : version.missing) {
    AQUA_TRY(copy_weights(host, {.model = version.model,
                                 .version = version.version,
                                 .shard = shard,
                                 .shards = version.shards,
                                 .source = &device,
                                 .keeper = options.keeper}));
  }
  step("drop");
  return drop_copies(version.model, version.version, PublishedMemory::device_of(device),
                     options.keeper);
}

// What was copied in vain does not stay.
Result<void> move(const Unread& version, Runtime& device, Runtime& host,
                  const TrimOptions& options) {
  auto moved = try_to_move(version, device, host, options);
  if (!moved.ok() && !version.missing.empty()) {
    (void)drop_copies(version.model, version.version, PublishedMemory::host_device(),
                      options.keeper);
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
  return moved;
}

}  // namespace aqua::sharing
