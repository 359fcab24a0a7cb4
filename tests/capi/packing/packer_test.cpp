// SPDX-License-Identifier: Apache-2.0
// Packers over the C ABI: what calls refuse, and what they leave as it is then.
#include "aqua/packing/packer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class CapiPacker : public ::testing::Test {
 protected:
  CapiPacker() {
    aqua_packer_options options = AQUA_PACKER_OPTIONS_INIT;
    options.watermark = 0;
    options.block_tokens = 1;
    EXPECT_EQ(code_of(aqua_packer_create("pack", &options, &packer_)), AQUA_OK);
  }
  ~CapiPacker() override { EXPECT_EQ(code_of(aqua_packer_free(packer_)), AQUA_OK); }

  aqua_code join(std::uint64_t id, std::uint64_t kv_tokens = 1000) {
    aqua_packer_engine engine = AQUA_PACKER_ENGINE_INIT;
    engine.id = id;
    engine.kv_tokens = kv_tokens;
    return code_of(aqua_packer_join(packer_, &engine));
  }
  aqua_code arrive(std::uint64_t id, std::uint64_t tokens) {
    aqua_packer_request request = AQUA_PACKER_REQUEST_INIT;
    request.id = id;
    request.tokens = tokens;
    return code_of(aqua_packer_arrive(packer_, &request, &placed_));
  }
  const aqua_packer_plan& epoch() {
    EXPECT_EQ(code_of(aqua_packer_epoch(packer_, &plan_)), AQUA_OK);
    return plan_;
  }
  [[nodiscard]] aqua_packer_status status() const {
    aqua_packer_status told = AQUA_PACKER_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_packer_get_status(packer_, &told)), AQUA_OK);
    return told;
  }

  aqua_packer packer_{};
  aqua_packer_placement placed_{9, 9, 9, 9};
  aqua_packer_plan plan_ = AQUA_PACKER_PLAN_INIT;
};

TEST_F(CapiPacker, ARequestMovesAndItsEngineIsFree) {
  for (const std::uint64_t id : {1U, 2U, 3U}) ASSERT_EQ(join(id), AQUA_OK);
  ASSERT_EQ(arrive(600, 600), AQUA_OK);
  EXPECT_EQ(placed_.request, 600U);
  EXPECT_EQ(placed_.engine, 1U);
  EXPECT_EQ(placed_.reason, static_cast<aqua_packer_reason>(AQUA_PACKER_WAKES));
  EXPECT_EQ(placed_.wakes, 1U);
  ASSERT_EQ(arrive(500, 500), AQUA_OK);
  ASSERT_EQ(arrive(300, 300), AQUA_OK);
  ASSERT_EQ(code_of(aqua_packer_ended(packer_, 600)), AQUA_OK);
  const aqua_packer_plan& plan = epoch();
  EXPECT_EQ(plan.number, 1U);
  ASSERT_EQ(plan.move_count, 1U);
  EXPECT_EQ(plan.moves[0].request, 300U);
  EXPECT_EQ(plan.moves[0].from, 1U);
  EXPECT_EQ(plan.moves[0].to, 2U);
  EXPECT_EQ(plan.certificate.engines, 1U);
  aqua_packer_request_status request = AQUA_PACKER_REQUEST_STATUS_INIT;
  ASSERT_EQ(code_of(aqua_packer_get_request(packer_, 300, &request)), AQUA_OK);
  EXPECT_EQ(request.state, static_cast<aqua_packer_request_state>(AQUA_PACKER_MOVING));
  EXPECT_EQ(request.from, 1U);
  EXPECT_EQ(code_of(aqua_packer_moved(packer_, 300, 2)), AQUA_FAILED_PRECONDITION);
  ASSERT_EQ(code_of(aqua_packer_moved(packer_, 300, 1)), AQUA_OK);
  ASSERT_EQ(epoch().freed_count, 1U);
  EXPECT_EQ(plan_.freed[0], 1U);
  aqua_packer_engine_status engine = AQUA_PACKER_ENGINE_STATUS_INIT;
  ASSERT_EQ(code_of(aqua_packer_get_engine(packer_, 2, &engine)), AQUA_OK);
  EXPECT_EQ(engine.residents, 2U);
  EXPECT_EQ(engine.held_tokens, 800U);
  EXPECT_EQ(status().moves, 1U);
  EXPECT_EQ(status().asleep, 2U);
}

TEST_F(CapiPacker, WhatAnEngineLostIsNamedUntilTheNextLoss) {
  ASSERT_EQ(join(1), AQUA_OK);
  for (const std::uint64_t id : {5U, 6U}) ASSERT_EQ(arrive(id, 100), AQUA_OK);
  const std::uint64_t* lost = nullptr;
  std::size_t count = 77;
  EXPECT_EQ(code_of(aqua_packer_lost(packer_, 2, &lost, &count)), AQUA_NOT_FOUND);
  EXPECT_EQ(count, 77U);
  ASSERT_EQ(code_of(aqua_packer_lost(packer_, 1, &lost, &count)), AQUA_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(lost[0] + lost[1], 11U);
  EXPECT_EQ(status().waiting, 2U);
}

TEST_F(CapiPacker, WhatCannotBeIsRefusedAndChangesNothing) {
  ASSERT_EQ(join(1), AQUA_OK);
  ASSERT_EQ(arrive(1, 400), AQUA_OK);
  const aqua_packer_status before = status();
  EXPECT_EQ(join(1), AQUA_ALREADY_EXISTS);
  EXPECT_EQ(join(0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(join(2, 0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(arrive(1, 5), AQUA_ALREADY_EXISTS);
  EXPECT_EQ(arrive(2, 0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(arrive(2, 1001), AQUA_RESOURCE_EXHAUSTED);
  EXPECT_EQ(placed_.request, 1U) << "an output is written only on success";
  EXPECT_EQ(code_of(aqua_packer_grew(packer_, 1, 399)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_grew(packer_, 7, 399)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_packer_ended(packer_, 7)), AQUA_NOT_FOUND);
  EXPECT_EQ(code_of(aqua_packer_gone(packer_, 1)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_packer_resize(packer_, 1, 0)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_failed(packer_, 1, 1)), AQUA_FAILED_PRECONDITION);
  const aqua_packer_status after = status();
  EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  ASSERT_EQ(code_of(aqua_packer_drain(packer_, 1)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_packer_drain(packer_, 1)), AQUA_FAILED_PRECONDITION);
}

TEST_F(CapiPacker, NullAndOtherHandlesAreRefused) {
  aqua_packer other{};
  EXPECT_EQ(code_of(aqua_packer_create("luck", nullptr, &other)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_create("pack", nullptr, nullptr)), AQUA_INVALID_ARGUMENT);
  aqua_packer_options options = AQUA_PACKER_OPTIONS_INIT;
  options.watermark = 0.6;
  EXPECT_EQ(code_of(aqua_packer_create("pack", &options, &other)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(other.id, 0U);
  EXPECT_EQ(code_of(aqua_packer_free(other)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_join(packer_, nullptr)), AQUA_INVALID_ARGUMENT);
  aqua_packer_engine unset{};
  EXPECT_EQ(code_of(aqua_packer_join(packer_, &unset)), AQUA_INVALID_ARGUMENT) << "no size";
  EXPECT_EQ(code_of(aqua_packer_arrive(packer_, nullptr, &placed_)), AQUA_INVALID_ARGUMENT);
  aqua_packer_request request = AQUA_PACKER_REQUEST_INIT;
  EXPECT_EQ(code_of(aqua_packer_arrive(packer_, &request, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_epoch(packer_, nullptr)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_get_status(packer_, nullptr)), AQUA_INVALID_ARGUMENT);
  std::size_t count = 0;
  EXPECT_EQ(code_of(aqua_packer_lost(packer_, 1, nullptr, &count)), AQUA_INVALID_ARGUMENT);
  aqua_block_pool pool{};
  ASSERT_EQ(code_of(aqua_block_pool_create(1, 1, &pool)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_packer_free({pool.id})), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_block_pool_free(pool)), AQUA_OK);
}

TEST_F(CapiPacker, APlanOfAnOlderCallerIsFilledAsFarAsItGoes) {
  ASSERT_EQ(join(1), AQUA_OK);
  plan_.struct_size = offsetof(aqua_packer_plan, freed);
  plan_.freed_count = 77;
  epoch();
  EXPECT_EQ(plan_.number, 1U);
  EXPECT_EQ(plan_.freed_count, 77U);
}

TEST(CapiPackers, NamesAndDefaultsAreThoseOfCpp) {
  std::vector<std::string> policies;
  for (std::size_t i = 0; aqua_packer_policy(i) != nullptr; ++i)
    policies.emplace_back(aqua_packer_policy(i));
  EXPECT_EQ(policies, packing::packer_names());
  EXPECT_EQ(policies.front(), packing::kDefaultPacker);
  for (std::uint32_t i = 0; i < packing::kReasons; ++i)
    EXPECT_EQ(aqua_packer_reason_name(i), to_string(static_cast<packing::Reason>(i)));
  EXPECT_STREQ(aqua_packer_reason_name(packing::kReasons), "unknown");
  const aqua_packer_options c = AQUA_PACKER_OPTIONS_INIT;
  const packing::PackerOptions cpp;
  EXPECT_EQ(c.watermark, cpp.watermark);
  EXPECT_EQ(c.max_moves, cpp.max_moves);
  EXPECT_EQ(c.max_move_tokens, cpp.max_move_tokens);
  EXPECT_EQ(c.reserve != 0, cpp.reserve);
  EXPECT_EQ(c.near_slack, cpp.near_slack);
  EXPECT_EQ(c.balance_gap, cpp.balance_gap);
  EXPECT_EQ(c.block_tokens, cpp.block_tokens);
  EXPECT_EQ(c.bytes_per_token, cpp.bytes_per_token);
}

TEST(CapiPackers, DivideSendsWhatTheLinksCarry) {
  const aqua_packer_move moves[] = {{1, 1, 2, 100, 1000, AQUA_PACKER_EMPTIES, 0, 0},
                                    {2, 1, 2, 100, 1000, AQUA_PACKER_EMPTIES, 0, 0},
                                    {3, 1, 2, 100, 1000, AQUA_PACKER_EMPTIES, 0, 0}};
  const aqua_packer_engine_boundary engines[] = {{1, 0, 1000, 1000, 0}, {2, 0, 1000, 1000, 100}};
  const aqua_packer_server_boundary server{0, 0, 0};
  std::array<aqua_packer_send_as, 3> as{7, 7, 7};
  ASSERT_EQ(
      code_of(aqua_packer_divide(moves, 3, engines, 2, &server, 1, AQUA_PACKER_EITHER, as.data())),
      AQUA_OK);
  std::array<int, 3> counts{};
  for (const aqua_packer_send_as one : as) ++counts.at(one);
  EXPECT_EQ(counts, (std::array<int, 3>{1, 1, 1}));
  ASSERT_EQ(code_of(aqua_packer_divide(moves, 3, engines, 2, &server, 1, AQUA_PACKER_TOKENS_ONLY,
                                       as.data())),
            AQUA_OK);
  EXPECT_EQ(std::count(as.begin(), as.end(), static_cast<aqua_packer_send_as>(AQUA_PACKER_KV)), 0);
  const auto refused = [&](std::size_t count, std::uint32_t ways, const auto& of, std::size_t n) {
    return code_of(aqua_packer_divide(moves, count, of, n, &server, 1, ways, as.data())) ==
           AQUA_INVALID_ARGUMENT;
  };
  const aqua_packer_engine_boundary twice[] = {engines[0], engines[0]};
  EXPECT_TRUE(refused(3, AQUA_PACKER_EITHER, engines, 1)) << "engine 2 has no boundary";
  EXPECT_TRUE(refused(3, AQUA_PACKER_EITHER, twice, 2));
  EXPECT_TRUE(refused(3, 3, engines, 2));
  EXPECT_EQ(code_of(aqua_packer_divide(nullptr, 1, engines, 2, &server, 1, 0, as.data())),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_packer_divide(nullptr, 0, nullptr, 0, nullptr, 0, 0, nullptr)), AQUA_OK);
}

}  // namespace
}  // namespace aqua::test
