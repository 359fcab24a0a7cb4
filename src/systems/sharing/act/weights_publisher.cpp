// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/weights_publisher.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "aqua/published_memory.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/digest.hpp"
#include "systems/sharing/act/keeper_client.hpp"
#include "systems/sharing/act/sealed_text.hpp"
#include "systems/sharing/decide/laid_out_alike.hpp"

namespace aqua::sharing {

struct WeightsPublisher::Parts {
  Manifest manifest;
  KeeperClient keeper;
  CopyId copy;
  PublishedMemory memory;
  std::size_t handed_over = 0;  // slabs that the keeper has
  Result<void> as_expected{};   // an error: it is never published

  [[nodiscard]] Result<void> digest(const Manifest* expected);
  [[nodiscard]] Result<void> hand_over(const std::vector<SlabDescriptor>& slabs);
};

WeightsPublisher::WeightsPublisher(std::unique_ptr<Parts> parts) noexcept
    : parts_(std::move(parts)) {}
WeightsPublisher::WeightsPublisher(WeightsPublisher&&) noexcept = default;
WeightsPublisher& WeightsPublisher::operator=(WeightsPublisher&&) noexcept = default;
WeightsPublisher::~WeightsPublisher() = default;

Result<WeightsPublisher> WeightsPublisher::begin(Runtime& runtime, const Manifest& manifest,
                                                 const std::string& keeper) {
  AQUA_TRY(check(manifest));
  AQUA_ASSIGN(const DeviceUuid device, parse_id<DeviceTag>(PublishedMemory::device_of(runtime)));
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  const ShardName shard{manifest.model, manifest.version, manifest.shard, manifest.shards};
  // The name before the memory, which two publishers at once would both take. Without memory the
  // connection ends here, and gives the name back.
  const bool spare = to_string(device) == PublishedMemory::host_device();
  AQUA_ASSIGN(const auto opened,
              client.call(wire::Publish{.shard = shard, .device = device, .spare = spare}));
  const std::vector<std::size_t> slabs(manifest.slabs.begin(), manifest.slabs.end());
  AQUA_ASSIGN(PublishedMemory memory, PublishedMemory::create(runtime, slabs));
  return WeightsPublisher(std::unique_ptr<Parts>(
      new Parts{manifest, std::move(client), opened.reply.copy, std::move(memory)}));
}

std::byte* WeightsPublisher::address() const noexcept {
  return parts_->memory.address();
}

Result<void> WeightsPublisher::write(std::size_t tensor, std::uint64_t offset,
                                     const std::byte* from, std::uint64_t bytes) {
  const Manifest& manifest = parts_->manifest;
  const std::uint64_t room =
      tensor < manifest.tensors.size() ? tensor_bytes(manifest, manifest.tensors[tensor]) : 0;
  if (offset > room || bytes > room - offset) {
    return Error{Code::invalid_argument, concat("publish: ", bytes, " bytes at ", offset,
                                                " of tensor ", tensor, ", which has ", room)};
  }
  return parts_->memory.write(manifest.tensors[tensor].offset + offset, from, bytes);
}

Result<void> WeightsPublisher::Parts::digest(const Manifest* expected) {
  Digester digester(memory);
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    TensorInfo& tensor = manifest.tensors[i];
    if (tensor.view_of) continue;
    AQUA_ASSIGN(tensor.digest, digester.digest(tensor.offset, tensor_bytes(manifest, tensor)));
    if (expected == nullptr || tensor.digest == expected->tensors.at(i).digest) continue;
    as_expected =
        Error{Code::data_loss, concat("publish: ", manifest.model, " ", manifest.version, ": ",
                                      tensor.name, " differs from what is expected")};
    break;
  }
  return as_expected;
}

Result<void> WeightsPublisher::Parts::hand_over(const std::vector<SlabDescriptor>& slabs) {
  while (handed_over < slabs.size()) {
    wire::Add part{.copy = copy, .bytes = {}};
    std::vector<int> fds;
    const std::size_t end = std::min(slabs.size(), handed_over + wire::kMaxDescriptors);
    for (std::size_t i = handed_over; i < end; ++i) {
      part.bytes.push_back(slabs[i].bytes);
      fds.push_back(slabs[i].descriptor);
    }
    step("publish");
    AQUA_TRY(keeper.call(part, fds));
    handed_over = end;
  }
  AQUA_ASSIGN(const UniqueFd text, seal_text(to_json(manifest)));
  const int fd = text.get();
  step("commit");
  AQUA_TRY(keeper.call(wire::Commit{.copy = copy}, {&fd, 1}));
  return {};
}

Result<void> WeightsPublisher::commit() {
  return commit(nullptr);
}

Result<void> WeightsPublisher::commit(const Manifest& expected) {
  if (!laid_out_alike(expected, parts_->manifest)) {
    return Error{Code::invalid_argument,
                 concat("publish: what is expected of ", expected.model, " ", expected.version,
                        " is laid out in another way")};
  }
  return commit(&expected);
}

Result<void> WeightsPublisher::commit(const Manifest* expected) {
  Parts& parts = *parts_;
  AQUA_TRY(parts.as_expected);
  step("seal");
  AQUA_TRY(parts.memory.seal());
  AQUA_TRY(parts.digest(expected));
  AQUA_ASSIGN(const auto slabs, parts.memory.descriptors());
  AQUA_TRY(parts.hand_over(slabs));
  parts_.reset();
  return {};
}

}  // namespace aqua::sharing
