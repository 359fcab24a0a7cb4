// SPDX-License-Identifier: Apache-2.0
// Any bytes as an HTTP request to every handler: nothing crashes, nothing throws, each reply is
// HTTP with a known status, and the ledger's invariants hold after it.
// The first byte says who sends it: a stranger, a reader, an engine or an operator. In the rest
// the byte 0x01 stands for the header that proves a lender's session, 0x02 for a borrower's.
#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/coordinator/in_memory.hpp"

namespace {

using aqua::coordinator::Peer;
using aqua::coordinator::Role;
using aqua::testing::InMemory;

constexpr std::size_t kRequestsPerWorld = 512;  // then a new ledger, so that findings repeat

struct World {
  World() {
    aqua::wire::JoinRequest request;
    for (const bool lends : {true, false}) {
      request.info.id.bytes.fill(lends ? 0x0a : 0x0b);
      request.info.device.bytes.fill(lends ? 0xd1 : 0xd2);
      request.info.producer = lends;
      request.info.consumer = !lends;
      (lends ? lender : borrower) = http.session(request.info.id);
      http.ask("POST", "/v1/clients", lends ? lender : borrower, aqua::wire::encode(request));
    }
  }
  InMemory http;
  std::string lender;
  std::string borrower;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<World> world;
  static std::size_t requests = 0;
  if (size == 0) return 0;
  if (world == nullptr || ++requests % kRequestsPerWorld == 0) {
    spdlog::set_level(spdlog::level::off);
    world = std::make_unique<World>();
  }
  constexpr Role kRoles[] = {Role::none, Role::read_only, Role::engine, Role::operator_};
  const Peer peer{true, InMemory::kOperator.uid, kRoles[data[0] % 4]};
  std::string text;
  for (std::size_t i = 1; i < size; ++i) {
    if (data[i] == 1 || data[i] == 2) {
      text += data[i] == 1 ? world->lender : world->borrower;
    } else {
      text.push_back(static_cast<char>(data[i]));
    }
  }
  // A long poll would only wait.
  if (text.find("/v1/watch") != std::string::npos &&
      text.find("timeout_ms=0 ") == std::string::npos) {
    return 0;
  }
  const int status = aqua::testing::status_of_reply(world->http.answer(text, peer));
  if (status < 200 || status > 599 || status == 500) std::abort();
  const std::string broken = world->http.service.with(
      [](aqua::ledger::Ledger& ledger, aqua::ledger::Time) { return ledger.check_invariants(); });
  if (!broken.empty()) std::abort();
  return 0;
}
