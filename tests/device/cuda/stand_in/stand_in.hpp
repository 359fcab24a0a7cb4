// SPDX-License-Identifier: Apache-2.0
// The hooks of the stand-in that the device has loaded; null where the driver is a real one or
// there is none.
#pragma once

#include <dlfcn.h>

#include "tests/device/cuda/stand_in/hooks.hpp"

namespace aqua::stand_in {

inline const Hooks* hooks() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<HooksFunction>(::dlsym(library, kHooks));
  return get == nullptr ? nullptr : get();
}

}  // namespace aqua::stand_in
