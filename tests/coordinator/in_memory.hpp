// SPDX-License-Identifier: Apache-2.0
// The whole of the coordinator's HTTP, from the bytes of a request to those of its reply,
// without a socket or a daemon. For tests of every route, and for the fuzzer.
//
// Threads: as the parts.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/api/api.hpp"
#include "coordinator/http/admission.hpp"
#include "coordinator/http/http_server.hpp"
#include "wire/clients.hpp"
#include "wire/problem.hpp"

namespace aqua::testing {

// A request's bytes to be read, and a reply's as they are written.
class MemoryStream final : public coordinator::Stream {
 public:
  explicit MemoryStream(std::string_view request) : request_(request) {}
  ssize_t read(char* out, std::size_t size) override {
    const std::size_t taken = std::min(size, request_.size() - read_);
    std::memcpy(out, request_.data() + read_, taken);
    read_ += taken;
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    reply_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  [[nodiscard]] const std::string& reply() const { return reply_; }

 private:
  std::string_view request_;
  std::size_t read_ = 0;
  std::string reply_;
};

class InMemory {
 public:
  explicit InMemory(const coordinator::AdmissionLimits& limits = {}, const std::string& tokens = "")
      : tokens_(tokens),
        admission_(router, sessions, tokens_, limits),
        server_({}, admission_, observer_, service.epoch()) {
    coordinator::install_api(router, api_);
    readiness_.set(coordinator::Readiness::State::ready);
  }

  // The reply to `text`, a whole request.
  std::string answer(const std::string& text, const coordinator::Peer& peer = kOperator) {
    // What a socket's first read brings may end anywhere behind the head.
    const std::size_t end = coordinator::end_of_head(text).value_or(text.size());
    MemoryStream stream(std::string_view(text).substr(end));
    server_.answer(stream, text.substr(0, end), peer);
    return stream.reply();
  }
  std::string ask(const std::string& method, const std::string& target,
                  const std::string& headers = "", const std::string& body = "",
                  const coordinator::Peer& peer = kOperator) {
    return answer(method + " " + target + " HTTP/1.1\r\n" + headers +
                      "Content-Type: application/json\r\n" +
                      "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
                  peer);
  }
  // A session, and the header that proves it.
  std::string session(const ClientId& id) {
    return "Aqua-Session: " + to_string(sessions.open(id, 1, kOperator.uid).secret) + "\r\n";
  }

  // For a route of a test's own.
  coordinator::Api& api() { return api_; }

  static constexpr coordinator::Peer kOperator{true, 1000, coordinator::Role::operator_};
  static constexpr coordinator::Peer kEngine{true, 1000, coordinator::Role::engine};
  static constexpr coordinator::Peer kOverTcp{};

  coordinator::Metrics metrics{"test"};
  coordinator::Journal journal{metrics};
  coordinator::LedgerService service{{}, 16, &journal};
  coordinator::GroupService groups{service};
  coordinator::Sessions sessions;
  coordinator::Router router;

 private:
  coordinator::TokenBook tokens_;
  coordinator::HttpObserver observer_{metrics};
  coordinator::Readiness readiness_;
  coordinator::ServerDirectory servers_{{.name = "here"},
                                        [] { return wire::Server{.name = "here"}; }};
  coordinator::Api api_{.service = service,
                        .groups = groups,
                        .sessions = sessions,
                        .journal = journal,
                        .metrics = metrics,
                        .readiness = readiness_,
                        .servers = servers_,
                        .version = "test",
                        .server = "boot",
                        .host = "here",
                        .lifeline = "/lifeline"};
  coordinator::Admission admission_;
  coordinator::HttpServer server_;
};

inline int status_of_reply(const std::string& reply) {
  return reply.starts_with("HTTP/1.1 ") && reply.size() > 12 ? std::stoi(reply.substr(9, 3)) : 0;
}
inline std::string body_of_reply(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

}  // namespace aqua::testing
