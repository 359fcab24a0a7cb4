// SPDX-License-Identifier: Apache-2.0
#include "engine_clock.hpp"

#include <algorithm>
#include <ctime>
#include <thread>

#include "must.hpp"

namespace aqua::llama_example {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::steady_clock;

double EngineClock::now() const {
  return duration<double>(read() - start_).count();
}

void EngineClock::idle_until(double seconds) {
  const auto wait = duration_cast<Duration>(duration<double>(seconds)) - (read() - start_);
  if (kind_ == Kind::cpu) {
    start_ -= std::max(wait, Duration{0});
  } else {
    std::this_thread::sleep_for(wait);
  }
}

EngineClock::Duration EngineClock::read() const {
  if (kind_ == Kind::wall) return steady_clock::now().time_since_epoch();
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
    throw example::Failure("this system does not tell a thread's processor time");
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

}  // namespace aqua::llama_example
