// SPDX-License-Identifier: Apache-2.0
// A small consumer in C++: bytes go through a tensor and back; both faces in one program.
#include <cstring>
#include <iostream>

#include "aqua/aqua.h"
#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"

int main() {
  using namespace aqua::literals;
  auto runtime =
      aqua::Runtime::open({.device = "emu:11", .coordinator = "none", .host_bytes = 2_MiB});
  if (!runtime.ok()) {
    std::cerr << runtime.error().message << '\n';
    return 1;
  }
  auto tensor = runtime->allocate({.bytes = 4096, .name = "consumer"});
  if (!tensor.ok()) return 1;
  auto pin = tensor->pin(aqua::Access::write, aqua::Stream{});
  if (!pin.ok()) return 1;
  char got[8] = {};
  auto launched = aqua::emulated::launch(*runtime, aqua::Stream{}, [&got, address = pin->data()] {
    std::memcpy(aqua::emulated::kernel_view(address), "a block", sizeof got);
    std::memcpy(got, aqua::emulated::kernel_view(address), sizeof got);
  });
  pin->release();
  if (!launched.ok() || !aqua::emulated::synchronize(*runtime, aqua::Stream{}).ok()) return 1;
  return std::strcmp(got, "a block") == 0 && aqua_version() == AQUA_VERSION_NUMBER ? 0 : 1;
}
