// SPDX-License-Identifier: Apache-2.0
#include "play/coordinator.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "daemon_program.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;
using Clock = std::chrono::steady_clock;

// A client that has lost the coordinator looks for it again after random pauses of up to two
// seconds; what more there is, a connection takes on a busy machine.
constexpr std::chrono::milliseconds kAllAreBack{2500};

// Whether the child has been stopped since this was last asked.
bool was_stopped(pid_t pid) {
  siginfo_t told{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &told, WSTOPPED | WNOHANG) == 0 &&
         told.si_pid == pid;
}

}  // namespace

Coordinator::Coordinator(const Options& options, const std::filesystem::path& directory)
    : options_(options), directory_(directory), address_(example::coordinator_address(directory)) {
  constexpr std::chrono::seconds kStartPatience{60};  // on a busy machine
  start();
  example::await_line(*process_, "listening", kStartPatience);
  runtime_.emplace(example::must(Runtime::open({.device = "emu:0",
                                                .coordinator = address_,
                                                .name = "orchestrator",
                                                .host_bytes = 2_MiB,
                                                .socket_directory = directory_,
                                                .curve_directory = "off"}),
                                 "runtime"));
  hears_since_ = Clock::now();
}

void Coordinator::start() {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe"),
                                "--coordinator-role",
                                "--directory",
                                directory_,
                                "--ttl-ms",
                                std::to_string(options_.ttl_ms),
                                "--parent",
                                std::to_string(::getpid())};
  if (!options_.coordinator_program.empty())
    line.insert(line.end(), {"--coordinator-binary", options_.coordinator_program});
  process_.emplace("coordinator", line);
}

void Coordinator::look() {
  if (const auto status = process_->wait(std::chrono::milliseconds(0))) {
    if (!WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL) example::throw_ended(*process_);
    ++deaths_;
    stopped_.reset();
    hears_since_.reset();
    listens_ = false;
    start();
    return;
  }
  if (was_stopped(process_->pid())) {
    ++stops_;
    stopped_ = Clock::now();
    hears_since_.reset();
  }
  if (stopped_ && Clock::now() - *stopped_ > std::chrono::milliseconds(options_.ttl_ms)) {
    process_->signal(SIGCONT);
    stopped_.reset();
  }
  for (const std::string& line : process_->lines().read(std::chrono::milliseconds(0)))
    listens_ = listens_ || line.find("listening") != std::string::npos;
  if (!hears_since_ && !stopped_ && listens_ && runtime_->status().connected)
    hears_since_ = Clock::now() + kAllAreBack;
}

}  // namespace aqua::pipeline
