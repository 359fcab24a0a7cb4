// SPDX-License-Identifier: Apache-2.0
#include "serve/named_step.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace aqua::pipeline {

void NamedStep::reached(std::string_view step) const {
  at(step, die_at_, SIGKILL);
  at(step, stop_at_, SIGSTOP);
}

void NamedStep::at(std::string_view step, const std::string& wanted, int signal) const {
  if (step != wanted) return;
  const auto mark =
      directory_ / (process_ + (signal == SIGKILL ? " died at " : " stopped at ") + wanted);
  const int made = ::open(mark.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, S_IRUSR);
  if (made < 0) return;  // it has happened
  (void)::kill(::getpid(), signal);
  for (;;) (void)::pause();
}

}  // namespace aqua::pipeline
