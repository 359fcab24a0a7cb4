// SPDX-License-Identifier: Apache-2.0
#include "serve/named_step.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace aqua::pipeline {

void NamedStep::reached(std::string_view step) const {
  if (step != name_) return;
  const int made = ::open(mark_.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, S_IRUSR);
  if (made < 0) return;  // it has happened
  (void)::kill(::getpid(), SIGKILL);
  for (;;) (void)::pause();
}

}  // namespace aqua::pipeline
