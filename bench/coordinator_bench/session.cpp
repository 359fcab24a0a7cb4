// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/session.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/concat.hpp"
#include "harness.hpp"
#include "southbound/http_call.hpp"
#include "wire/codec.hpp"
#include "wire/slabs.hpp"

namespace aqua::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

Session::Session(const std::string& directory, Part part, const std::string& domain)
    : coordinator_{.path = directory + "/c.sock", .host = {}, .port = 0} {
  const auto interrupt = must(southbound::Interrupt::open(), "eventfd");
  lifeline_ = must(
      southbound::connect_lifeline(directory + "/data/lifeline.sock", id_, kPatience, interrupt),
      "lifeline");
  wire::JoinRequest join;
  join.info.id = id_;
  join.info.name = "bench";
  join.info.device = random_id<DeviceTag>();
  join.info.device_name = "emu:0";
  join.info.server = lifeline_.welcome.server;
  join.info.domain = domain;
  join.info.producer = part == Part::producer;
  join.info.consumer = part == Part::consumer;
  if (join.info.producer) join.info.exchange = directory + "/exchange.sock";
  call("POST", "/v1/clients", wire::encode(join));
}

std::string Session::request(std::string_view method, std::string_view target,
                             std::string_view body) const {
  return concat(method, " ", target, " HTTP/1.1\r\nHost: aqua\r\nConnection: close\r\n",
                "Aqua-Session: ", to_string(lifeline_.welcome.secret), "\r\n",
                body.empty() ? "" : "Content-Type: application/json\r\n",
                "Content-Length: ", body.size(), "\r\n\r\n", body);
}

std::string Session::call(std::string_view method, std::string_view target,
                          const std::string& body) const {
  auto outcome = southbound::http_call(
      coordinator_, {std::string(method), std::string(target), lifeline_.welcome.secret, body},
      southbound::Clock::now() + kPatience, nullptr);
  if (outcome.reply && outcome.reply->status == 200) return std::move(outcome.reply->body);
  const std::string why = outcome.reply ? outcome.reply->body : outcome.error.message;
  std::fprintf(stderr, "%s\n", concat(method, " ", target, ": ", why).c_str());
  std::exit(1);
}

void Session::offer(std::uint32_t first, std::uint32_t count) const {
  constexpr std::uint32_t kBatch = 2048;  // within the limit of a request's bytes
  for (std::uint32_t done = 0; done < count;) {
    wire::OfferRequest request;
    for (; done < count && request.slabs.size() < kBatch; ++done) {
      request.slabs.push_back({.index = first + done,
                               .bytes = kSlabBytes,
                               .generation = 1,
                               .secret = random_id<LeaseTag>(),
                               .holder = {}});
    }
    call("POST", "/v1/offers", wire::encode(request));
  }
}

std::uint32_t Session::borrow(std::uint32_t count) const {
  return static_cast<std::uint32_t>(number_in(
      call("POST", "/v1/leases", wire::encode(wire::LeaseRequest{count * kSlabBytes, kRoom})),
      "index"));
}

std::uint64_t number_in(std::string_view json, std::string_view name) {
  std::uint64_t value = 0;
  const std::string key = concat("\"", name, "\":");
  const std::size_t at = json.find(key);
  if (at != std::string_view::npos)
    std::from_chars(json.data() + at + key.size(), json.data() + json.size(), value);
  return value;
}

}  // namespace aqua::bench
