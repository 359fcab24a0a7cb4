// SPDX-License-Identifier: Apache-2.0
#include "serve/lease.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using FileClock = std::filesystem::file_time_type::clock;

std::filesystem::path file_of(const std::filesystem::path& directory, pid_t pid) {
  return directory / ("lease of " + std::to_string(pid));
}

}  // namespace

Lease::Lease(const std::filesystem::path& directory, std::chrono::milliseconds ttl) {
  const auto file = file_of(directory, ::getpid());
  if (!std::ofstream(file)) throw example::Failure(file.string() + " cannot be made");
  renewing_ = std::jthread([this, file, ttl](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stopping_.wait_for(lock, stop, ttl / 4, [&] { return stop.stop_requested(); })) {
      std::error_code failed;
      std::filesystem::last_write_time(file, FileClock::now(), failed);
    }
  });
}

bool Lease::ran_out(const std::filesystem::path& directory, pid_t pid,
                    std::chrono::milliseconds ttl) {
  std::error_code none;
  const auto renewed = std::filesystem::last_write_time(file_of(directory, pid), none);
  return !none && FileClock::now() - renewed > ttl;
}

void Lease::forget(const std::filesystem::path& directory, pid_t pid) {
  std::error_code none;
  (void)std::filesystem::remove(file_of(directory, pid), none);
}

}  // namespace aqua::pipeline
