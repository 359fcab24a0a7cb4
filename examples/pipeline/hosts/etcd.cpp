// SPDX-License-Identifier: Apache-2.0
#include "hosts/etcd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "hosts/bridge.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::Failure;
using example::Fd;

std::string url(const std::string& address, const char* port) {
  return "http://" + address + port;
}
constexpr const char *kClients = ":2379", *kPeers = ":2380";

std::string ready_in(const std::filesystem::path& folder) {
  return folder / "etcd.ready";
}

}  // namespace

std::string etcd_members(unsigned hosts) {
  std::string all;
  for (unsigned host = 0; host < hosts; ++host) {
    all += (all.empty() ? "" : ",") + host_name(host) + "=" + url(Bridge::address_of(host), kPeers);
  }
  return all;
}

std::string etcd_clients(unsigned hosts) {
  std::string all;
  for (unsigned host = 0; host < hosts; ++host)
    all += (all.empty() ? "" : ",") + url(Bridge::address_of(host), kClients);
  return all;
}

void become_etcd(const Options& options) {
  const std::string log = options.directory / "etcd.log", data = options.directory / "etcd";
  const std::string clients = url(options.address, kClients), peers = url(options.address, kPeers);
  const std::string program = options.etcd_program;
  std::vector<std::string> line{program, "--name", options.server, "--data-dir", data};
  for (const char* const of : {"--listen-client-urls", "--advertise-client-urls"})
    line.insert(line.end(), {of, clients});
  for (const char* const of : {"--listen-peer-urls", "--initial-advertise-peer-urls"})
    line.insert(line.end(), {of, peers});
  line.insert(line.end(), {"--initial-cluster", options.etcd});
  std::vector<char*> pointers;
  for (std::string& argument : line) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const Fd to(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!to.valid()) throw Failure(log + ": " + std::strerror(errno));
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(to.get(), output);
  (void)::setenv("NOTIFY_SOCKET", ready_in(options.directory).c_str(), 1);  // NOLINT(*-mt-unsafe)
  ::execv(program.c_str(), pointers.data());
  throw Failure(program + ": " + std::strerror(errno));
}

EtcdReady::EtcdReady(const std::filesystem::path& folder)
    : path_(ready_in(folder)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw Failure(path_ + ": " + std::strerror(errno));
}

void EtcdReady::await() const {
  constexpr int kPatienceMs = 60'000;  // on a busy machine
  for (;;) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0)
      throw Failure("the etcd of " + path_ + " does not get ready; etcd.log beside it says why");
    std::array<char, 512> text{};
    const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), 0);
    if (got < 0) continue;
    const std::string_view said(text.data(), static_cast<std::size_t>(got));
    if (said.find("READY=1") != std::string_view::npos) return;
  }
}

}  // namespace aqua::pipeline
