// SPDX-License-Identifier: Apache-2.0
#include "play/daemon.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <utility>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

// Whether the child has been stopped since this was last asked.
bool was_stopped(pid_t pid) {
  siginfo_t told{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &told, WSTOPPED | WNOHANG) == 0 &&
         told.si_pid == pid;
}

}  // namespace

Daemon::Daemon(std::string name, std::vector<std::string> line,
               std::chrono::milliseconds stops_last)
    : name_(std::move(name)), line_(std::move(line)), stops_last_(stops_last) {
  start();
  await_listening();
}

void Daemon::start() {
  process_.emplace(name_, line_);
  listens_ = killed_ = false;
  stopped_.reset();
}

void Daemon::signal(int number) {
  process_->signal(number);
  if (number == SIGKILL) killed_ = true;
  if (number == SIGSTOP) stopped_ = Clock::now();
}

void Daemon::look() {
  if (const auto status = process_->wait(example::kNow)) {
    if (!WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL) example::throw_ended(*process_);
    ++deaths_;
    start();
    return;
  }
  if (was_stopped(process_->pid())) {
    ++stops_;
    stopped_ = Clock::now();
  }
  if (stopped_ && Clock::now() - *stopped_ > stops_last_) {
    process_->signal(SIGCONT);
    stopped_.reset();
  }
  for (const std::string& said : process_->lines().read(example::kNow))
    listens_ = listens_ || said.find("listening") != std::string::npos;
}

void Daemon::await_listening() {
  constexpr std::chrono::seconds kPatience{60};  // on a busy machine
  constexpr int kOneWait = 20;  // milliseconds; then it is looked whether a stop has lasted
  const auto deadline = Clock::now() + kPatience;
  for (look(); !listens(); look()) {
    if (Clock::now() > deadline) throw example::Failure(name_ + " does not listen");
    std::array<pollfd, 2> news{{{process_->output(), POLLIN, 0}, {process_->pidfd(), POLLIN, 0}}};
    (void)::poll(news.data(), news.size(), kOneWait);
  }
}

}  // namespace aqua::pipeline
