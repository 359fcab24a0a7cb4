// SPDX-License-Identifier: Apache-2.0
// What systemd is to the keeper: a socket that takes descriptors and passes them to the next one.
//
// Threads: one of its own receives; the rest is the test's.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/unique_fd.hpp"

namespace aqua::sharing {

class FakeSystemd {
 public:
  explicit FakeSystemd(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    thread_ = std::thread([this] { receive(); });
  }
  ~FakeSystemd() {
    tell("END");
    thread_.join();
  }

  // The names of what it has, when all that was sent before has been taken.
  [[nodiscard]] std::vector<std::string> names() {
    sync();
    const MutexLock lock(mu_);
    std::vector<std::string> names;
    for (const auto& [name, fd] : stored_) names.push_back(name);
    return names;
  }
  void lose(const std::string& name) {
    sync();
    const MutexLock lock(mu_);
    EXPECT_EQ(stored_.erase(name), 1U);
  }
  // "c7-0" becomes "c1-0".
  void rename_all(const std::string& copy) {
    const MutexLock lock(mu_);
    std::map<std::string, UniqueFd> renamed;
    for (auto& [name, fd] : stored_) renamed[copy + name.substr(name.find('-'))] = std::move(fd);
    stored_ = std::move(renamed);
  }
  void add(const std::string& name, UniqueFd fd) {
    const MutexLock lock(mu_);
    stored_[name] = std::move(fd);
  }

  // Arguments that start `command` with all that is stored.
  [[nodiscard]] std::vector<std::string> start(const std::string& command) {
    sync();
    const MutexLock lock(mu_);
    std::ostringstream script;
    std::string passed;
    int number = 3;
    // What the test itself has inherited would be overwritten by some, and left open beside others.
    script << "for n in {3..63}; do exec {n}<&-; done; ";
    // Each to a number that none of them has, and from there to its own.
    for (const auto& [name, fd] : stored_) {
      inherited_.emplace_back(::fcntl(fd.get(), F_DUPFD, 500));  // a child has it
      const int from = inherited_.back().get();
      script << "exec " << number++ << "<&" << from << " " << from << "<&-; ";
      passed += (passed.empty() ? "" : ":") + name;
    }
    script << "export NOTIFY_SOCKET=" << path_ << " LISTEN_PID=$$ LISTEN_FDS=" << stored_.size()
           << " LISTEN_FDNAMES=" << passed << "; exec " << command;
    return {"/bin/bash", "-c", script.str()};
  }
  void started() { inherited_.clear(); }

 private:
  void tell(const std::string& text) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_GT(::sendto(fd.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&address),
                       sizeof address),
              0);
  }
  void sync() {
    tell("SYNC");
    const MutexLock lock(mu_);
    const int wanted = ++asked_;
    while (synced_ < wanted) changed_.wait(mu_);
  }
  void receive() {
    for (;;) {
      auto message = receive_message(socket_.get(), 4096, std::chrono::hours(1));
      if (!message.ok()) return;
      const std::string text(reinterpret_cast<const char*>(message->bytes.data()),
                             message->bytes.size());
      if (text == "END") return;
      const std::size_t at = text.find("FDNAME=");
      const std::string name = at == std::string::npos ? "" : text.substr(at + 7);
      const MutexLock lock(mu_);
      if (text == "SYNC") ++synced_;
      if (text.starts_with("FDSTORE=1") && message->fds.size() == 1) {
        stored_[name] = std::move(message->fds.front());
      }
      if (text.starts_with("FDSTOREREMOVE=1")) stored_.erase(name);
      changed_.notify_all();
    }
  }

  const std::string path_;
  UniqueFd socket_;
  Mutex mu_;
  CondVar changed_;
  std::map<std::string, UniqueFd> stored_ AQUA_GUARDED_BY(mu_);
  int asked_ AQUA_GUARDED_BY(mu_) = 0;
  int synced_ AQUA_GUARDED_BY(mu_) = 0;
  std::vector<UniqueFd> inherited_;
  std::thread thread_;
};

}  // namespace aqua::sharing
