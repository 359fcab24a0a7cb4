// SPDX-License-Identifier: Apache-2.0
// What an engine has of a GPU on which others compute as well.
#pragma once

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class GpuShare {
 public:
  GpuShare() = default;
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;
  virtual ~GpuShare() = default;

  // Begins an iteration that would take `alone` with the whole GPU; `prefills`: with some of a
  // prompt. Answers when it ends; the engine begins no other one before.
  [[nodiscard]] virtual Picos begin(Picos now, Picos alone, bool prefills) = 0;
};

}  // namespace aqua::sim
