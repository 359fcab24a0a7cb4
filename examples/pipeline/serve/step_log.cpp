// SPDX-License-Identifier: Apache-2.0
#include "serve/step_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

std::filesystem::path log_of(const std::filesystem::path& directory, unsigned stage) {
  return directory / ("steps-" + std::to_string(stage));
}

}  // namespace

StepLog::StepLog(const std::filesystem::path& directory, unsigned stage)
    : stage_(stage),
      file_(::open(log_of(directory, stage).c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC,
                   S_IRUSR | S_IWUSR)) {
  if (!file_.valid()) throw example::Failure(log_of(directory, stage).native() + ": not written");
}

// At once, and whole: a process may be killed at any time.
void StepLog::add(const StepHead& step, StepClock::time_point begin) {
  const LoggedStep logged{.sequence = step.sequence,
                          .begin = begin,
                          .end = StepClock::now(),
                          .stage = stage_,
                          .first = step.first,
                          .count = step.count};
  if (::write(file_.get(), &logged, sizeof logged) != sizeof logged)
    throw example::Failure("a step's time was not written");
}

std::vector<LoggedStep> StepLog::read(const std::filesystem::path& directory, unsigned stages) {
  std::vector<LoggedStep> all;
  for (unsigned stage = 0; stage < stages; ++stage) {
    std::ifstream file(log_of(directory, stage), std::ios::binary);
    for (LoggedStep step; file.read(reinterpret_cast<char*>(&step), sizeof step);)
      all.push_back(step);
  }
  return all;
}

}  // namespace aqua::pipeline
