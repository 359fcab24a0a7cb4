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

// Returns the bytes of all tensors.
Result<std::uint64_t> copy_tensors(const Manifest& manifest, const PublishedMemory& source,
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
      AQUA_TRY(publisher.write(i, at, source.address() + tensor.offset + at, part));
      at += part;
      done += part;
      if (options.on_progress) options.on_progress(done, all);
    }
  }
  return all;
}

}  // namespace

Result<LoadedWeights> copy_weights(Runtime& runtime, const CopyOptions& options) {
  if (options.model.empty()) return Error{Code::invalid_argument, "copy: no model is named"};
  if (const auto from = parse_id<DeviceTag>(options.from); !from.ok()) {
    return Error{from.error().code,
                 concat("copy: from '", options.from, "': ", from.error().message)};
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
  AQUA_ASSIGN(const PublishedMemory source, PublishedMemory::open(runtime, there.slabs()));
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
