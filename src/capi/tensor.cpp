// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/tensor.h"

#include "capi/call.hpp"
#include "capi/convert.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"
#include "capi/stream_check.hpp"

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;

namespace {

static_assert(static_cast<aqua_access>(aqua::Access::read) == AQUA_ACCESS_READ);
static_assert(static_cast<aqua_access>(aqua::Access::write) == AQUA_ACCESS_WRITE);

Result<void> release(const char* what, aqua_pin pin, const aqua_stream* last_use) {
  if (last_use != nullptr) {
    AQUA_ASSIGN(const auto used, pins().use(what, pin.id));
    AQUA_TRY(check_stream(*used->runtime, used->runtime.id(), *last_use));
  }
  AQUA_ASSIGN(const auto last, pins().end(what, pin.id));
  if (last_use != nullptr) last->last_use = to_stream(*last_use);
  return {};  // the object's end releases the pin
}

}  // namespace

extern "C" {

aqua_error* aqua_tensor_allocate(aqua_runtime runtime, const aqua_tensor_options* options,
                                 aqua_tensor* tensor) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_tensor_allocate";
    AQUA_CAPI_NOT_NULL(what, tensor);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto given, take_in("aqua_tensor_allocate: options", options));
    AQUA_ASSIGN(auto made, used->allocate({.bytes = given.bytes,
                                           .name = string_or_empty(given.name),
                                           .discardable = given.discardable != 0,
                                           .host_only = given.host_only != 0,
                                           .off_device = given.off_device != 0}));
    AQUA_ASSIGN(tensor->id,
                tensors().insert(runtime.id, TensorObject{used.keep(), std::move(made)}));
    return {};
  });
}

aqua_error* aqua_tensor_free(aqua_tensor tensor) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, tensors().end("aqua_tensor_free", tensor.id));
    return {};
  });
}

aqua_error* aqua_tensor_get_tier(aqua_tensor tensor, aqua_tier* tier) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_tensor_get_tier";
    AQUA_CAPI_NOT_NULL(what, tier);
    AQUA_ASSIGN(const auto used, tensors().use(what, tensor.id));
    *tier = to_c(used->tensor.tier());
    return {};
  });
}

aqua_error* aqua_tensor_get_info(aqua_tensor tensor, aqua_tensor_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_tensor_get_info";
    AQUA_TRY(check_size(what, info));
    AQUA_ASSIGN(const auto used, tensors().use(what, tensor.id));
    const aqua::AquaTensor& asked = used->tensor;
    aqua_tensor_info told = AQUA_TENSOR_INFO_INIT;
    told.tensor_id = asked.id();
    told.bytes = asked.bytes();
    told.tier = to_c(asked.tier());
    told.lost = asked.lost() ? 1 : 0;
    copy_name(told.name, asked.name());
    give_out(told, info);
    return {};
  });
}

aqua_error* aqua_tensor_pin(aqua_tensor tensor, aqua_access access, aqua_stream stream,
                            size_t offset, size_t bytes, aqua_pin* pin, void** data) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_tensor_pin";
    AQUA_CAPI_NOT_NULL(what, pin);
    if (access > AQUA_ACCESS_WRITE) {
      return Error{Code::invalid_argument, aqua::concat(what, ": no access ", access)};
    }
    AQUA_ASSIGN(const auto used, tensors().use(what, tensor.id));
    AQUA_TRY(check_stream(*used->runtime, used->runtime.id(), stream));
    AQUA_ASSIGN(auto held, used->tensor.pin(static_cast<aqua::Access>(access), to_stream(stream),
                                            {offset, bytes}));
    void* const address = held.data();
    AQUA_ASSIGN(pin->id, pins().insert(used->runtime.id(),
                                       PinObject{used->runtime.keep(), std::move(held)}));
    if (data != nullptr) *data = address;
    return {};
  });
}

aqua_error* aqua_pin_get_info(aqua_pin pin, aqua_pin_info* info) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_pin_get_info";
    AQUA_TRY(check_size(what, info));
    AQUA_ASSIGN(const auto used, pins().use(what, pin.id));
    const aqua::Pin& held = used->pin;
    give_out(aqua_pin_info{sizeof(aqua_pin_info), held.data(), held.bytes(), to_c(held.tier())},
             info);
    return {};
  });
}

aqua_error* aqua_pin_release(aqua_pin pin) {
  return call([&] { return release("aqua_pin_release", pin, nullptr); });
}

aqua_error* aqua_pin_release_on(aqua_pin pin, aqua_stream last_use) {
  return call([&] { return release("aqua_pin_release_on", pin, &last_use); });
}

}  // extern "C"
