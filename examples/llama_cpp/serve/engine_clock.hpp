// SPDX-License-Identifier: Apache-2.0
// EngineClock: what llama_serve measures by. The wall's time, or the processor time of the one
// thread that computes, going on from arrival to arrival while there is nothing to compute. By the
// second, whatever else the machine does takes none of the engine's time: several engines that run
// beside each other, on cores of one speed, are recorded as if each were alone.
//
// Threads: the one that computes, alone. Errors: Failure.
#pragma once

#include <chrono>

namespace aqua::llama_example {

class EngineClock {
 public:
  enum class Kind { wall, cpu };
  explicit EngineClock(Kind kind) : kind_(kind), start_(read()) {}

  // Seconds since it was made.
  [[nodiscard]] double now() const;
  // Nothing is to be done until then.
  void idle_until(double seconds);

 private:
  using Duration = std::chrono::nanoseconds;
  [[nodiscard]] Duration read() const;

  Kind kind_;
  Duration start_;  // of the clock; a processor's time that was skipped is taken from it
};

}  // namespace aqua::llama_example
