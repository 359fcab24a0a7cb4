// SPDX-License-Identifier: Apache-2.0
// CallTime adds up what calls take of the calling thread's processor: host work alone, on a machine
// that is busy as on one that is not. Threads: one.
#pragma once

#include <time.h>

#include <cstddef>

namespace aqua::bench {

class CallTime {
 public:
  template <typename Call>
  void of(const Call& call) {
    const double before = used();
    call();
    seconds_ += used() - before;
  }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  static double used() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  double seconds_ = 0;
};

// Microseconds of host work for each streamed layer of a step, of what `steps` of them took.
[[nodiscard]] inline double host_us_per_streamed_layer(double seconds, double steps,
                                                       std::size_t streamed) {
  return 1e6 * seconds / steps / static_cast<double>(streamed);
}

}  // namespace aqua::bench
