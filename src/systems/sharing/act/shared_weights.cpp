// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/shared_weights.hpp"

#include <optional>
#include <unordered_map>
#include <utility>

#include "aqua/runtime.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/attached_copy.hpp"
#include "systems/sharing/act/digest.hpp"
#include "systems/sharing/decide/laid_out_alike.hpp"

namespace aqua::sharing {

struct SharedWeights::Parts {
  [[nodiscard]] ShardName wanted() const {
    return {options.model, options.version, options.shard, options.shards};
  }

  const WeightsOptions options;
  const std::string device;
  KeeperClient keeper;
  AttachedCopy copy;  // without its descriptors: what is mapped needs none
  PublishedMemory memory;
  std::unordered_map<std::string_view, std::size_t> numbers{};  // of tensors, by name
  bool suspended = false;
  bool detached = false;  // the keeper knows, or is away
};

SharedWeights::SharedWeights(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
SharedWeights::SharedWeights(SharedWeights&&) noexcept = default;
SharedWeights& SharedWeights::operator=(SharedWeights&&) noexcept = default;
SharedWeights::~SharedWeights() = default;

Result<SharedWeights> SharedWeights::attach(Runtime& runtime, const WeightsOptions& options) {
  if (options.model.empty()) return Error{Code::invalid_argument, "attach: no model is named"};
  AQUA_ASSIGN(KeeperClient keeper, KeeperClient::connect(options.keeper));
  const std::string device = PublishedMemory::device_of(runtime);
  const ShardName wanted{options.model, options.version, options.shard, options.shards};
  step("attach");
  AQUA_ASSIGN(AttachedCopy copy, attach_copy(keeper, wanted, device, options.patience));
  step("map");
  AQUA_ASSIGN(PublishedMemory memory, PublishedMemory::open(runtime, copy.slabs()));
  copy.descriptors.clear();
  std::unique_ptr<Parts> parts(
      new Parts{options, device, std::move(keeper), std::move(copy), std::move(memory)});
  const auto& tensors = parts->copy.manifest.tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) parts->numbers.emplace(tensors[i].name, i);
  return SharedWeights(std::move(parts));
}

const Manifest& SharedWeights::manifest() const noexcept {
  return parts_->copy.manifest;
}
WriteProtection SharedWeights::protection() const noexcept {
  return parts_->copy.protection;
}
std::uint64_t SharedWeights::bytes() const noexcept {
  return parts_->memory.bytes();
}

Result<WeightTensor> SharedWeights::find(std::string_view name) const {
  const auto found = parts_->numbers.find(name);
  if (found != parts_->numbers.end()) return tensor(found->second);
  return Error{Code::not_found, concat("weights: ", manifest().model, " ", manifest().version,
                                       " has no tensor '", name, "'")};
}

WeightTensor SharedWeights::tensor(std::size_t number) const {
  const TensorInfo& info = manifest().tensors.at(number);
  return {.address = parts_->memory.address() + info.offset,
          .bytes = tensor_bytes(manifest(), info),
          .info = &info,
          .type = &manifest().types[info.type]};
}

Result<void> SharedWeights::verify() {
  Digester digester(parts_->memory);
  for (const TensorInfo& tensor : manifest().tensors) {
    if (tensor.view_of) continue;
    AQUA_ASSIGN(const Digest now, digester.digest(tensor.offset, tensor_bytes(manifest(), tensor)));
    if (now == tensor.digest) continue;
    return Error{Code::data_loss, concat("weights: ", manifest().model, " ", manifest().version,
                                         ": ", tensor.name, " is not what was published")};
  }
  return {};
}

Result<void> SharedWeights::suspend() {
  parts_->suspended = true;  // also if some of it stays mapped: resume() begins anew
  AQUA_TRY(parts_->memory.release());
  if (parts_->detached) return {};
  // A keeper that is away has forgotten us anyway.
  (void)parts_->keeper.call(wire::Detach{.copy = parts_->copy.id});
  parts_->detached = true;
  return {};
}

Result<void> SharedWeights::resume() {
  if (!parts_->suspended) return {};
  // Another keeper may be there by now.
  AQUA_ASSIGN(KeeperClient keeper, KeeperClient::connect(parts_->keeper.path()));
  AQUA_ASSIGN(AttachedCopy copy,
              attach_copy(keeper, parts_->wanted(), parts_->device, std::chrono::milliseconds(0)));
  if (!laid_out_alike(copy.manifest, manifest())) {
    return Error{
        Code::failed_precondition,
        concat("resume: ", copy.manifest.model, " ", copy.manifest.version,
               " is laid out in another way than ", manifest().version, ": attach it anew")};
  }
  AQUA_TRY(parts_->memory.reopen(copy.slabs()));
  // The tensors' names stay where they are, since numbers refers to them.
  for (std::size_t i = 0; i < copy.manifest.tensors.size(); ++i) {
    parts_->copy.manifest.tensors[i].digest = copy.manifest.tensors[i].digest;
  }
  parts_->copy.manifest.version = std::move(copy.manifest.version);
  parts_->copy.id = copy.id;
  parts_->copy.protection = copy.protection;
  parts_->keeper = std::move(keeper);
  parts_->suspended = parts_->detached = false;
  return {};
}

}  // namespace aqua::sharing
