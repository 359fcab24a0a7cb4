// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/attached_copy.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/deadline.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/sealed_text.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing {
namespace {

template <typename... What>
Error lie(const What&... what) {
  return Error{Code::invalid_argument, concat("attach: the keeper's answer cannot be: ", what...)};
}

Result<Manifest> manifest_of(const KeeperClient::Answer& attached, const ShardName& asked) {
  if (attached.fds.size() != 1) return lie(attached.fds.size(), " descriptors of a manifest");
  AQUA_ASSIGN(const std::string text,
              read_sealed_text(attached.fds.front().get(), kMostManifestText));
  AQUA_ASSIGN(Manifest manifest, parse_manifest(text));
  if (manifest.model != asked.model || manifest.shard != asked.shard ||
      manifest.shards != asked.shards || manifest.version != attached.reply.version ||
      (!asked.version.empty() && manifest.version != asked.version)) {
    return lie("a manifest of ", manifest.model, " ", manifest.version, ", shard ", manifest.shard,
               " of ", manifest.shards);
  }
  if (manifest.slabs.size() != attached.reply.slabs) {
    return lie(attached.reply.slabs, " slabs, and ", manifest.slabs.size(), " in the manifest");
  }
  return manifest;
}

// The keeper's answer, once it has what is asked for or nobody is publishing it.
Result<KeeperClient::Answer> await_copy(KeeperClient& keeper, const wire::Attach& asked,
                                        std::chrono::milliseconds patience) {
  const auto deadline = deadline_after(patience);
  for (bool last = false;;) {
    AQUA_ASSIGN(auto answer, keeper.call(asked));
    if (!answer.reply.later) return answer;
    if (!asked.wait || answer.fds.size() != 1) {
      return lie("later, with ", answer.fds.size(), " events");
    }
    if (last) {
      return Error{Code::deadline_exceeded, concat("attach: ", asked.shard.model,
                                                   " lacks shards, or is still being published")};
    }
    step("wait");
    AQUA_TRY(keeper.wait_for(answer.fds.front().get(), deadline));
    last = std::chrono::steady_clock::now() >= deadline;  // what has come until then is there
  }
}

}  // namespace

std::vector<SlabDescriptor> AttachedCopy::slabs() const {
  std::vector<SlabDescriptor> slabs;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    slabs.push_back(
        {.descriptor = descriptors[i].get(), .bytes = static_cast<std::size_t>(manifest.slabs[i])});
  }
  return slabs;
}

Result<AttachedCopy> attach_copy(KeeperClient& keeper, const ShardName& shard,
                                 const std::string& device, std::chrono::milliseconds patience) {
  AQUA_ASSIGN(const DeviceUuid uuid, parse_id<DeviceTag>(device));
  const wire::Attach asked{.shard = shard, .device = uuid, .wait = patience.count() > 0};
  AQUA_ASSIGN(const auto attached, await_copy(keeper, asked, patience));
  AttachedCopy copy{.id = attached.reply.copy, .manifest = {}, .descriptors = {}};
  AQUA_ASSIGN(copy.manifest, manifest_of(attached, shard));
  if (attached.reply.enforced) copy.protection = WriteProtection::enforced;
  const auto& sizes = copy.manifest.slabs;
  while (copy.descriptors.size() < sizes.size()) {
    const auto first = static_cast<std::uint32_t>(copy.descriptors.size());
    AQUA_ASSIGN(auto part, keeper.call(wire::Fetch{.copy = copy.id, .first = first}));
    if (part.fds.empty() || part.fds.size() != part.reply.bytes.size() ||
        part.fds.size() > sizes.size() - first) {
      return lie(part.fds.size(), " descriptors from slab ", first, " on, of ", sizes.size());
    }
    for (std::size_t i = 0; i < part.fds.size(); ++i) {
      if (part.reply.bytes[i] != sizes[first + i]) {
        return lie("slab ", first + i, " of ", part.reply.bytes[i], " bytes, not ",
                   sizes[first + i]);
      }
      copy.descriptors.push_back(std::move(part.fds[i]));
    }
  }
  return copy;
}

}  // namespace aqua::sharing
