// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/scripted_coordinator.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "wire/address.hpp"
#include "wire/clients.hpp"
#include "wire/groups.hpp"
#include "wire/problem.hpp"
#include "wire/slabs.hpp"

namespace aqua::test {
namespace {

constexpr std::chrono::seconds kPatience{60};
const Epoch kEpoch = random_id<EpochTag>();
constexpr ledger::Time kTtl{60'000};

UniqueFd listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const wire::SocketAddress own = wire::socket_address({.path = path, .host = {}, .port = 0});
  if (::bind(fd.get(), own.get(), own.length) != 0 || ::listen(fd.get(), 64) != 0) std::abort();
  return fd;
}

// Reads a whole request; "" when the client has gone.
std::string receive_request(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t length = text.find("Content-Length: ");
      if (text.size() >= end + 4 + std::strtoull(text.c_str() + length + 16, nullptr, 10)) break;
    }
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return {};
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// "METHOD PATH" of it.
std::string name_of(const std::string& text) {
  return text.substr(0, text.find_first_of("? ", text.find(' ') + 1));
}

}  // namespace

ScriptedCoordinator::ScriptedCoordinator(const std::string& directory, Script script)
    : path_(directory + "/scripted.sock"),
      lifeline_path_(directory + "/scripted-lifeline.sock"),
      script_(std::move(script)),
      listener_(listen_at(path_)),
      lifelines_(listen_seqpacket(lifeline_path_).value()) {
  accepting_ = std::thread([this] { accept_all(); });
  greeting_ = std::thread([this] { accept_lifelines(); });
}

ScriptedCoordinator::~ScriptedCoordinator() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  ::shutdown(lifelines_.get(), SHUT_RDWR);
  accepting_.join();
  greeting_.join();
  for (std::thread& thread : serving_) thread.join();
}

void ScriptedCoordinator::accept_all() {
  for (;;) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return;
    serving_.emplace_back([this, fd = connection.release()] { serve(UniqueFd(fd)); });
  }
}

// Keeps every lifeline open until it goes.
void ScriptedCoordinator::accept_lifelines() {
  std::vector<UniqueFd> open;
  for (;;) {
    pollfd waiting{lifelines_.get(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    auto lifeline = accept_seqpacket(lifelines_.get());
    if (!lifeline.ok()) return;
    (void)receive_message(lifeline->get(), 16384, kPatience);
    const std::string welcome = wire::encode(wire::Welcome{
        .epoch = kEpoch, .secret = random_id<SessionTag>(), .server = "here", .client_ttl = kTtl});
    (void)send_message(lifeline->get(), std::as_bytes(std::span(welcome)), {}, kPatience);
    open.push_back(*std::move(lifeline));
  }
}

void ScriptedCoordinator::serve(UniqueFd connection) {
  const std::string asked = receive_request(connection.get());
  if (asked.empty()) return;
  const std::string request = name_of(asked);
  {
    const MutexLock lock(mu_);
    asked_[request].push_back(asked);
    changed_.notify_all();
  }
  const Reply reply = answer(request);
  if (reply.status == kNoAnswer) return;
  const std::string text =
      concat("HTTP/1.1 ", reply.status, " -\r\nContent-Length: ", reply.body.size(), "\r\n\r\n",
             reply.body);
  (void)::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

ScriptedCoordinator::Reply ScriptedCoordinator::answer(const std::string& request) {
  if (auto scripted = script_(request)) return *std::move(scripted);
  if (request == "GET /v1/info") {
    return {200, wire::encode(wire::Info{.epoch = kEpoch,
                                         .version = "scripted",
                                         .server = "here",
                                         .lifeline = lifeline_path_,
                                         .client_ttl = kTtl,
                                         .lease_ttl = kTtl})};
  }
  if (request == "GET /v1/watch") {
    (void)await("the end", 1);
    return unavailable();
  }
  if (request == "GET /v1/clients/self") return self({});
  if (request == "POST /v1/leases") return unavailable();
  if (request == "POST /v1/leases/return") {  // of one slab
    return {200, wire::encode(wire::ReturnReply{.epoch = kEpoch, .results = {Result<void>()}})};
  }
  if (request.starts_with("POST /v1/clients"))
    return {200, wire::encode(wire::RenewReply{kEpoch, kTtl, kTtl})};
  return {200, wire::encode(wire::Ack{kEpoch})};
}

int ScriptedCoordinator::asked(const std::string& request) const {
  const MutexLock lock(mu_);
  const auto found = asked_.find(request);
  return found == asked_.end() ? 0 : static_cast<int>(found->second.size());
}

int ScriptedCoordinator::asked_anew(const std::string& request) const {
  const MutexLock lock(mu_);
  const auto found = asked_.find(request);
  if (found == asked_.end()) return 0;
  return static_cast<int>(std::set<std::string>(found->second.begin(), found->second.end()).size());
}

bool ScriptedCoordinator::await(const std::string& request, int times) const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const MutexLock lock(mu_);
  for (;;) {
    const auto found = asked_.find(request);
    if (found != asked_.end() && std::cmp_greater_equal(found->second.size(), times)) return true;
    if (stopping_ || !changed_.wait_until(mu_, deadline)) return false;
  }
}

ScriptedCoordinator::Reply ScriptedCoordinator::watch(const wire::Snapshot& snapshot) {
  wire::WatchReply reply;
  reply.epoch = kEpoch;
  reply.last_event = snapshot.last_event;
  reply.snapshot = snapshot;
  reply.snapshot->epoch = kEpoch;
  return {200, wire::encode(reply)};
}

ScriptedCoordinator::Reply ScriptedCoordinator::self(const wire::Snapshot& snapshot) {
  wire::Snapshot told = snapshot;
  told.epoch = kEpoch;
  return {200, wire::encode(told)};
}

ScriptedCoordinator::Reply ScriptedCoordinator::reclaim(const ledger::Ledger::ReclaimStart& start) {
  return {200, wire::encode(wire::ReclaimReply{kEpoch, start.reclaim, start.withdrawn})};
}

ScriptedCoordinator::Reply ScriptedCoordinator::lease(std::vector<ledger::Grant> grants) {
  return {200, wire::encode(wire::LeaseReply{kEpoch, std::move(grants)})};
}

ScriptedCoordinator::Reply ScriptedCoordinator::group(const groups::Group& group) {
  return {200, wire::encode(wire::GroupReply{kEpoch, group})};
}

ScriptedCoordinator::Reply ScriptedCoordinator::not_found() {
  return {404, wire::encode(wire::Problem{kEpoch, 404, {Code::not_found, "there is none"}})};
}

ScriptedCoordinator::Reply ScriptedCoordinator::unavailable() {
  return {503, wire::encode(wire::Problem{kEpoch, 503, {Code::unavailable, "nothing for now"}})};
}

ScriptedCoordinator::Reply ScriptedCoordinator::without_reply() {
  return {500, wire::encode(wire::Problem{kEpoch, 500, {Code::internal, "no memory for a reply"}})};
}

}  // namespace aqua::test
