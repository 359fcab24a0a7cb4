// SPDX-License-Identifier: Apache-2.0
// A client made by hand: a lifeline and single requests, for what southbound::Client would
// never send.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "southbound/http_call.hpp"
#include "southbound/lifeline.hpp"
#include "wire/clients.hpp"
#include "wire/problem.hpp"

namespace aqua::testing {

inline southbound::HttpReply ask(const std::string& coordinator, southbound::HttpRequest request) {
  const auto deadline = southbound::Clock::now() + std::chrono::seconds{60};
  auto outcome =
      southbound::http_call(wire::parse_address(coordinator).value(), request, deadline, nullptr);
  EXPECT_TRUE(outcome.reply) << outcome.error.message;
  return outcome.reply.value_or(southbound::HttpReply{});
}

// The code that an error reply tells.
inline Code code_of(const southbound::HttpReply& reply) {
  const auto error = wire::decode<wire::Problem>(reply.body);
  EXPECT_TRUE(error.ok()) << reply.status << " " << reply.body;
  return error.ok() ? error->error.code : Code::internal;
}

inline Result<southbound::Lifeline> connect_lifeline(const std::string& path, const ClientId& id) {
  auto interrupt = southbound::Interrupt::open();
  if (!interrupt.ok()) return std::move(interrupt).error();
  return southbound::connect_lifeline(path, id, std::chrono::seconds{60}, *interrupt);
}

struct RawSession {
  RawSession(std::string address, const std::string& lifeline_path,
             const ClientId& client_id = random_id<ClientTag>())
      : coordinator(std::move(address)), id(client_id) {
    auto connected = connect_lifeline(lifeline_path, id);
    EXPECT_TRUE(connected.ok()) << connected.error().message;
    if (connected.ok()) lifeline = std::move(connected).value();
  }
  southbound::HttpReply call(const std::string& method, const std::string& target,
                             const std::string& body = {}) const {
    return ask(coordinator, {method, target, lifeline.welcome.secret, body});
  }
  southbound::HttpReply join(bool producer = false) const {
    wire::JoinRequest request;
    request.info.id = id;
    request.info.name = "raw";
    request.info.device = device;
    request.info.server = lifeline.welcome.server;
    request.info.domain = "test";
    request.info.producer = producer;
    request.info.consumer = !producer;
    return call("POST", "/v1/clients", wire::encode(request));
  }

  std::string coordinator;
  ClientId id;
  const DeviceUuid device = random_id<DeviceTag>();
  southbound::Lifeline lifeline;
};

}  // namespace aqua::testing
