// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/copy_weights.hpp"

#include <algorithm>

#include "aqua/sharing/weights_publisher.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/attached_copy.hpp"

namespace aqua::sharing {
namespace {

constexpr std::uint64_t kCopiedAtOnce = std::uint64_t{8} << 20;

// What is to be copied, mapped by the runtime that publishes it or, without being peers, by one of
// its own device.
struct Source {
  PublishedMemory memory;
  std::vector<std::byte> buffer{};  // not empty: bytes go through it

  static Result<Source> open(Runtime& runtime, const AttachedCopy& copy,
                             const CopyOptions& options) {
    const std::string host = PublishedMemory::host_device();
    const bool beside_host = options.from == host || PublishedMemory::device_of(runtime) == host;
    if (!beside_host) {
      auto mapped = PublishedMemory::open(runtime, copy.slabs());
      const bool no_peers = !mapped.ok() && mapped.error().code == Code::failed_precondition;
      if (mapped.ok()) return Source{std::move(mapped).value()};
      if (!no_peers || options.source == nullptr) return std::move(mapped).error();
    }
    if (options.source == nullptr) {
      return Error{
          Code::failed_precondition,
          "copy: to or from host memory: a runtime on the device that has them is missing"};
    }
    AQUA_ASSIGN(PublishedMemory memory, PublishedMemory::open(*options.source, copy.slabs()));
    return Source{std::move(memory), std::vector<std::byte>(kCopiedAtOnce)};
  }

  Result<void> copy(std::uint64_t offset, WeightsPublisher& publisher, std::size_t tensor,
                    std::uint64_t at, std::uint64_t bytes) {
    if (buffer.empty()) return publisher.write(tensor, at, memory.address() + offset, bytes);
    AQUA_TRY(memory.read(offset, buffer.data(), bytes));
    return publisher.write(tensor, at, buffer.data(), bytes);
  }
};

// Returns the bytes of all tensors.
Result<std::uint64_t> copy_tensors(const Manifest& manifest, Source& source,
                                   WeightsPublisher& publisher, const CopyOptions& options) {
  std::uint64_t all = 0, done = 0;
  for (const TensorInfo& tensor : manifest.tensors) {
    if (!tensor.view_of) all += tensor_bytes(manifest, tensor);
  }
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const TensorInfo& tensor = manifest.tensors[i];
    const std::uint64_t bytes = tensor.view_of ? 0 : tensor_bytes(manifest, tensor);
    for (std::uint64_t at = 0; at < bytes;) {
      const std::uint64_t part = std::min(bytes - at, kCopiedAtOnce);
      step("copy");
      AQUA_TRY(source.copy(tensor.offset + at, publisher, i, at, part));
      at += part;
      done += part;
      if (options.on_progress) options.on_progress(done, all);
    }
  }
  return all;
}

}  // namespace

Result<LoadedWeights> copy_weights(Runtime& runtime, const CopyOptions& asked) {
  CopyOptions options = asked;
  if (options.from.empty() && options.source != nullptr) {
    options.from = PublishedMemory::device_of(*options.source);
  }
  if (options.model.empty()) return Error{Code::invalid_argument, "copy: no model is named"};
  if (const auto from = parse_id<DeviceTag>(options.from); !from.ok()) {
    return Error{from.error().code,
                 concat("copy: from '", options.from, "': ", from.error().message)};
  }
  if (options.source != nullptr && options.from != PublishedMemory::device_of(*options.source)) {
    return Error{Code::invalid_argument,
                 "copy: `source` is no runtime on the device that is named"};
  }
  if (options.from == PublishedMemory::device_of(runtime)) {
    return Error{Code::invalid_argument, "copy: the source is the runtime's own device"};
  }
  // It claims them until the end.
  AQUA_ASSIGN(KeeperClient keeper, KeeperClient::connect(options.keeper));
  const ShardName shard{options.model, options.version, options.shard, options.shards};
  step("attach");
  AQUA_ASSIGN(AttachedCopy there, attach_copy(keeper, shard, options.from, options.patience));
  step("map");
  AQUA_ASSIGN(Source source, Source::open(runtime, there, options));
  there.descriptors.clear();
  AQUA_ASSIGN(auto publisher, WeightsPublisher::begin(runtime, there.manifest, options.keeper));
  LoadedWeights loaded{.version = there.manifest.version,
                       .tensors = there.manifest.tensors.size(),
                       .slab_bytes = slab_bytes(there.manifest)};
  AQUA_ASSIGN(loaded.bytes, copy_tensors(there.manifest, source, publisher, options));
  AQUA_TRY(publisher.commit(there.manifest));
  return loaded;
}

}  // namespace aqua::sharing
