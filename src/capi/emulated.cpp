// SPDX-License-Identifier: Apache-2.0
#include "aqua/emulated.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "aqua/aqua_emulated.h"
#include "capi/call.hpp"
#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"

using namespace aqua::capi;
using aqua::Result;
namespace emulated = aqua::emulated;

namespace {

Result<void> check_bytes(const char* what, std::size_t bytes) {
  if (bytes <= PTRDIFF_MAX) return {};
  return aqua::Error{aqua::Code::invalid_argument, aqua::concat(what, ": ", bytes, " bytes")};
}

}  // namespace

extern "C" {

aqua_error* aqua_emulated_allocate(aqua_runtime runtime, size_t bytes, aqua_emulated_memory* memory,
                                   void** address) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_emulated_allocate";
    AQUA_CAPI_NOT_NULL(what, memory);
    AQUA_CAPI_NOT_NULL(what, address);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(auto made, emulated::allocate(*used, bytes));
    void* const place = made.data();
    AQUA_ASSIGN(memory->id,
                memories().insert(runtime.id, MemoryObject{used.keep(), std::move(made)}));
    *address = place;
    return {};
  });
}

aqua_error* aqua_emulated_free(aqua_emulated_memory memory) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, memories().end("aqua_emulated_free", memory.id));
    return {};
  });
}

aqua_error* aqua_emulated_stream_create(aqua_runtime runtime, aqua_stream* stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_emulated_stream_create";
    AQUA_CAPI_NOT_NULL(what, stream);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const aqua::Stream made, emulated::create_stream(*used));
    *stream = made.native;
    return {};
  });
}

aqua_error* aqua_emulated_stream_destroy(aqua_runtime runtime, aqua_stream stream) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_emulated_stream_destroy", runtime.id));
    return emulated::destroy_stream(*used, to_stream(stream));
  });
}

aqua_error* aqua_emulated_synchronize(aqua_runtime runtime, aqua_stream stream) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_emulated_synchronize", runtime.id));
    return emulated::synchronize(*used, to_stream(stream));
  });
}

aqua_error* aqua_emulated_write(aqua_runtime runtime, aqua_stream stream, void* to_device,
                                const void* from_host, size_t bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_emulated_write";
    AQUA_CAPI_NOT_NULL(what, to_device);
    AQUA_CAPI_NOT_NULL(what, from_host);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_TRY(check_bytes(what, bytes));
    const auto* const first = static_cast<const std::byte*>(from_host);
    auto copy = std::make_shared<const std::vector<std::byte>>(first, first + bytes);
    auto* const to = static_cast<std::byte*>(to_device);
    return emulated::launch(*used, to_stream(stream), [to, copy] {
      std::memcpy(emulated::kernel_view(to), copy->data(), copy->size());
    });
  });
}

aqua_error* aqua_emulated_read(aqua_runtime runtime, aqua_stream stream, const void* from_device,
                               void* to_host, size_t bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_emulated_read";
    AQUA_CAPI_NOT_NULL(what, from_device);
    AQUA_CAPI_NOT_NULL(what, to_host);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_TRY(check_bytes(what, bytes));
    const auto* const from = static_cast<const std::byte*>(from_device);
    return emulated::launch(*used, to_stream(stream), [from, to_host, bytes] {
      std::memcpy(to_host, emulated::kernel_view(from), bytes);
    });
  });
}

aqua_error* aqua_emulated_launch(aqua_runtime runtime, aqua_stream stream,
                                 void (*kernel)(void* user), void* user) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_emulated_launch";
    AQUA_CAPI_NOT_NULL(what, kernel);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    return emulated::launch(*used, to_stream(stream), [kernel, user] {
      const InCallback here;
      kernel(user);
    });
  });
}

void* aqua_emulated_view(void* device_address) {
  return emulated::kernel_view(static_cast<std::byte*>(device_address));
}

}  // extern "C"
