// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "capi/sized.hpp"
#include "systems/sharing/capi/objects.hpp"

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

namespace {

// Runs use(locked) as the only call on the weights. `what` names the call.
template <typename Use>
Result<void> use_weights(const char* what, aqua_weights handle, Use&& use) {
  AQUA_ASSIGN(const auto object, all_weights().use(what, handle.id));
  const aqua::MutexLock guard(object->locked->lock);
  return use(*object->locked);
}

aqua_weight_tensor to_c(const aqua::sharing::WeightTensor& tensor) noexcept {
  aqua_weight_tensor told = AQUA_WEIGHT_TENSOR_INIT;
  told.address = tensor.address;
  told.bytes = tensor.bytes;
  told.name = tensor.info->name.c_str();
  told.type = tensor.type->name.c_str();
  told.block_elements = tensor.type->elements;
  told.block_bytes = tensor.type->bytes;
  // A manifest that was checked has no more axes than these.
  told.axes = static_cast<std::uint32_t>(tensor.info->shape.size());
  std::ranges::copy(tensor.info->shape, std::begin(told.shape));
  std::ranges::copy(tensor.info->strides, std::begin(told.strides));
  return told;
}

}  // namespace

extern "C" {

aqua_error* aqua_weights_attach(aqua_runtime runtime, const aqua_weights_options* options,
                                aqua_weights* weights) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_attach";
    AQUA_CAPI_NOT_NULL(what, weights);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto given,
                take_in<aqua_weights_options>("aqua_weights_attach: options", options,
                                              AQUA_WEIGHTS_OPTIONS_INIT));
    auto locked = std::make_unique<LockedWeights>();
    AQUA_ASSIGN(auto attached,
                aqua::sharing::SharedWeights::attach(
                    *used, {.model = string_or_empty(given.model),
                            .version = string_or_empty(given.version),
                            .shard = given.shard,
                            .shards = given.shards,
                            .keeper = string_or_empty(given.keeper),
                            .patience = std::chrono::milliseconds(given.patience_ms)}));
    locked->weights.emplace(std::move(attached));
    count_alive(Kind::weights, [](std::uint64_t id) { return all_weights().count(id); });
    AQUA_ASSIGN(weights->id,
                all_weights().insert(runtime.id, WeightsObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_weights_free(aqua_weights weights) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, all_weights().end("aqua_weights_free", weights.id));
    return {};
  });
}

aqua_error* aqua_weights_get_info(aqua_weights weights, aqua_weights_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_get_info";
    AQUA_TRY(check_size(what, info));
    return use_weights(what, weights, [&](LockedWeights& locked) -> Result<void> {
      aqua_weights_info told = AQUA_WEIGHTS_INFO_INIT;
      told.tensors = locked.weights->manifest().tensors.size();
      told.bytes = locked.weights->bytes();
      told.version = locked.weights->manifest().version.c_str();
      told.enforced = locked.weights->protection() == aqua::WriteProtection::enforced ? 1 : 0;
      told.is_suspended = locked.suspended ? 1 : 0;
      give_out(told, info);
      return {};
    });
  });
}

aqua_error* aqua_weights_get_tensor(aqua_weights weights, uint64_t number,
                                    aqua_weight_tensor* tensor) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_get_tensor";
    AQUA_TRY(check_size(what, tensor));
    return use_weights(what, weights, [&](LockedWeights& locked) -> Result<void> {
      const std::size_t count = locked.weights->manifest().tensors.size();
      if (number >= count) {
        return Error{Code::invalid_argument,
                     aqua::concat(what, ": tensor ", number, " of ", count)};
      }
      give_out(to_c(locked.weights->tensor(number)), tensor);
      return {};
    });
  });
}

aqua_error* aqua_weights_find(aqua_weights weights, const char* name, aqua_weight_tensor* tensor) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_find";
    AQUA_TRY(check_size(what, tensor));
    return use_weights(what, weights, [&](LockedWeights& locked) -> Result<void> {
      AQUA_ASSIGN(const auto found, locked.weights->find(string_or_empty(name)));
      give_out(to_c(found), tensor);
      return {};
    });
  });
}

aqua_error* aqua_weights_verify(aqua_weights weights) {
  return call([&] {
    return use_weights("aqua_weights_verify", weights, [](LockedWeights& locked) -> Result<void> {
      if (locked.suspended) {
        return Error{Code::failed_precondition, "aqua_weights_verify: the weights are suspended"};
      }
      return locked.weights->verify();
    });
  });
}

aqua_error* aqua_weights_suspend(aqua_weights weights) {
  return call([&] {
    return use_weights("aqua_weights_suspend", weights, [](LockedWeights& locked) -> Result<void> {
      locked.suspended = true;  // also after an error: some of it may be unmapped
      return locked.weights->suspend();
    });
  });
}

aqua_error* aqua_weights_resume(aqua_weights weights) {
  return call([&] {
    return use_weights("aqua_weights_resume", weights, [](LockedWeights& locked) -> Result<void> {
      AQUA_TRY(locked.weights->resume());
      locked.suspended = false;
      return {};
    });
  });
}

}  // extern "C"
