// SPDX-License-Identifier: Apache-2.0
// TraceRange: a named range on the calling thread, for profilers that show NVTX. Nothing at
// all in builds without the CUDA toolkit's header, and next to nothing where no profiler is
// attached.
//
//   const TraceRange range("aqua prepare");
#pragma once

#if defined(AQUA_NVTX)
#include <nvtx3/nvToolsExt.h>
#endif

namespace aqua {

class TraceRange {
 public:
#if defined(AQUA_NVTX)
  explicit TraceRange(const char* name) noexcept {
    // Initialises NVTX here, once: by itself it would do so in its first call, where threads race.
    [[maybe_unused]] static const bool started = (nvtxInitialize(nullptr), true);
    nvtxRangePushA(name);
  }
  ~TraceRange() {
    nvtxRangePop();
  }
#else
  explicit TraceRange(const char*) noexcept {}
  ~TraceRange() {}  // NOLINT(modernize-use-equals-default): or the object would count as unused
#endif
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace aqua
