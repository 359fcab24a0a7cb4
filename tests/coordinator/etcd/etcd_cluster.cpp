// SPDX-License-Identifier: Apache-2.0
#include "tests/coordinator/etcd/etcd_cluster.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

namespace aqua::testing {
namespace {

// Ports that nobody has, and that nobody is given soon: the kernel draws them at random.
std::vector<int> free_ports(std::size_t count) {
  std::vector<UniqueFd> held;
  std::vector<int> ports;
  while (ports.size() < count) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      ADD_FAILURE() << "no port is free";
      break;
    }
    ports.push_back(ntohs(address.sin_port));
    held.push_back(std::move(fd));
  }
  return ports;
}

std::string local(std::string_view scheme, int port) {
  return std::string(scheme) + "://127.0.0.1:" + std::to_string(port);
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
  const std::vector<int> ports = free_ports(2 * members);
  for (std::size_t i = 0; i < members; ++i) {
    urls_.push_back(local(certificate_.empty() ? "http" : "https", ports.at(2 * i)));
    peers_.push_back(local("http", ports.at(2 * i + 1)));
    ready_.push_back(std::make_unique<ReadySocket>(dir_ / ("ready-" + std::to_string(i))));
  }
  for (std::size_t i = 0; i < members; ++i) launch(i);
  for (const auto& socket : ready_) EXPECT_TRUE(socket->await()) << "etcd did not start";
}

void EtcdCluster::launch(std::size_t member) {
  const auto name_of = [](std::size_t i) { return "m" + std::to_string(i); };
  std::string initial;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    initial += (i == 0 ? "" : ",") + name_of(i) + "=" + peers_[i];
  std::vector<std::string> arguments{"/usr/bin/env",
                                     "NOTIFY_SOCKET=" + ready_[member]->path(),
                                     etcd_program(),
                                     "--name",
                                     name_of(member),
                                     "--data-dir",
                                     dir_ / name_of(member),
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

void EtcdCluster::kill(std::size_t member) {
  processes_[member]->signal(SIGKILL);
  processes_[member]->wait();
}

void EtcdCluster::start(std::size_t member) {
  processes_[member].reset();
  launch(member);
  EXPECT_TRUE(ready_[member]->await()) << "etcd did not start again";
}

}  // namespace aqua::testing
