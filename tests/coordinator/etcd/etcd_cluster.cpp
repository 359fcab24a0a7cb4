// SPDX-License-Identifier: Apache-2.0
#include "tests/coordinator/etcd/etcd_cluster.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "tests/loopback_socket.hpp"

namespace aqua::testing {
namespace {

std::string local(std::string_view scheme, int port) {
  return std::string(scheme) + "://127.0.0.1:" + std::to_string(port);
}

std::string name_of(std::size_t member) {
  return "m" + std::to_string(member);
}

}  // namespace

std::string etcd_program() {
  constexpr const char* kProgram = "/usr/bin/etcd";
  return ::access(kProgram, X_OK) == 0 ? kProgram : "";
}

ReadySocket::ReadySocket(std::string path) : path_(std::move(path)) {
  fd_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

bool ReadySocket::await() const {
  constexpr int kPatienceMs = 60'000;
  for (;;) {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0) return false;
    std::array<char, 512> text{};
    const ssize_t n = ::recv(fd_.get(), text.data(), text.size(), 0);
    if (n > 0 && std::string_view(text.data(), static_cast<std::size_t>(n)).find("READY=1") !=
                     std::string_view::npos)
      return true;
  }
}

EtcdCluster::EtcdCluster(std::size_t members, std::string certificate, std::string key)
    : certificate_(std::move(certificate)), key_(std::move(key)), processes_(members) {
  std::vector<LoopbackSocket> places(2 * members);
  for (std::size_t i = 0; i < members; ++i) {
    urls_.push_back(local(certificate_.empty() ? "http" : "https", places[2 * i].port));
    peers_.push_back(local("http", places[2 * i + 1].port));
    ready_.push_back(std::make_unique<ReadySocket>(dir_ / ("ready-" + std::to_string(i))));
  }
  places.clear();  // for those who are to listen there
  for (std::size_t i = 0; i < members; ++i) launch(i);
  for (const auto& socket : ready_) EXPECT_TRUE(socket->await()) << "etcd did not start";
}

void EtcdCluster::launch(std::size_t member) {
  std::string initial;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    initial += (i == 0 ? "" : ",") + name_of(i) + "=" + peers_[i];
  std::vector<std::string> arguments{"/usr/bin/env",
                                     "NOTIFY_SOCKET=" + ready_[member]->path(),
                                     etcd_program(),
                                     "--name",
                                     name_of(member),
                                     "--data-dir",
                                     data_of(member),
                                     "--listen-client-urls",
                                     urls_[member],
                                     "--advertise-client-urls",
                                     urls_[member],
                                     "--listen-peer-urls",
                                     peers_[member],
                                     "--initial-advertise-peer-urls",
                                     peers_[member],
                                     "--initial-cluster",
                                     initial,
                                     "--heartbeat-interval",
                                     "50",
                                     "--election-timeout",
                                     "500"};
  if (!certificate_.empty())
    arguments.insert(arguments.end(), {"--cert-file", certificate_, "--key-file", key_});
  processes_[member].emplace(arguments, dir_ / (name_of(member) + ".log"));
}

std::string EtcdCluster::urls() const {
  std::string all;
  for (const std::string& url : urls_) all += (all.empty() ? "" : ",") + url;
  return all;
}

std::string EtcdCluster::data_of(std::size_t member) const {
  return dir_ / name_of(member);
}

void EtcdCluster::kill(std::size_t member) {
  processes_[member]->signal(SIGKILL);
  processes_[member]->wait();
}

void EtcdCluster::start(std::size_t member) {
  processes_[member].reset();
  launch(member);
  EXPECT_TRUE(ready_[member]->await()) << "etcd did not start again";
}

void EtcdCluster::back_up(std::size_t member) {
  kill(member);
  std::filesystem::copy(data_of(member), data_of(member) + ".backup",
                        std::filesystem::copy_options::recursive);
  start(member);
}

void EtcdCluster::restore(std::size_t member) {
  kill(member);
  std::filesystem::remove_all(data_of(member));
  std::filesystem::copy(data_of(member) + ".backup", data_of(member),
                        std::filesystem::copy_options::recursive);
  start(member);
}

}  // namespace aqua::testing
