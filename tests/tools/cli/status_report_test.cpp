// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/status_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/wire/samples.hpp"

namespace aqua::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using wire::samples::id;

ledger::Client client(std::uint8_t byte, const char* name) {
  ledger::Client row;
  row.info.id = id<ClientId>(byte);
  row.info.name = name;
  return row;
}

// A lender of one slab that the borrower was granted, and of one that it alone says it holds.
wire::State state() {
  wire::State state;
  state.clients = {client(1, "lender"), client(2, "borrower")};
  for (const std::uint64_t granted : {1U, 0U}) {
    ledger::Slab slab;
    slab.id = {id<ClientId>(1), static_cast<std::uint32_t>(granted)};
    slab.bytes = 2 << 20;
    slab.state = ledger::SlabState::leased;
    slab.holder = id<ClientId>(2);
    slab.granted = granted;
    state.slabs.push_back(slab);
  }
  return state;
}

TEST(StatusReport, AnAllegedHoldIsNoLoan) {
  const Json told = Json::parse(render_json(state(), true));
  ASSERT_EQ(told.at("loans").size(), 1U);
  EXPECT_EQ(told.at("loans")[0].at("slabs"), 1);
  ASSERT_EQ(told.at("alleged").size(), 1U);
  EXPECT_EQ(told.at("alleged")[0].at("bytes"), 2 << 20);
  EXPECT_EQ(told.at("clients")[0].at("held_bytes"), 2 << 20);
  EXPECT_EQ(told.at("clients")[1].at("borrowed_bytes"), 2 << 20);
  EXPECT_THAT(render(state()),
              HasSubstr("lender (01010101) alone says that borrower (02020202) holds 1 slabs"));
}

TEST(StatusReport, SaysWhyAClientGetsNoMore) {
  wire::State full = state();
  EXPECT_THAT(render(full), Not(HasSubstr("gets no more")));
  full.clients[1].refused = {.why = {Code::unavailable, "nothing is offered"}, .at = {}};
  EXPECT_THAT(render(full),
              HasSubstr("borrower (02020202) gets no more (unavailable): nothing is offered\n"));
  const Json told = Json::parse(render_json(full, true));
  EXPECT_FALSE(told.at("clients")[0].contains("refused"));
  EXPECT_EQ(told.at("clients")[1].at("refused").at("code"), "unavailable");
}

}  // namespace
}  // namespace aqua::tool
