// SPDX-License-Identifier: Apache-2.0
// The same calls over the C ABI and in C++: every answer and every plan is the same.
#include <map>
#include <random>

#include "aqua/packing/packer.hpp"
#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

using namespace aqua::packing;

template <typename Id>
std::vector<Id> ids(const std::uint64_t* numbers, std::size_t count) {
  std::vector<Id> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(Id{numbers[i]});
  return all;
}

Placement to_cpp(const aqua_packer_placement& p) {
  return {RequestId{p.request}, EngineId{p.engine}, static_cast<Reason>(p.reason), p.wakes != 0};
}

Plan to_cpp(const aqua_packer_plan& c) {
  Plan plan{.number = c.number,
            .wake = ids<EngineId>(c.wake, c.wake_count),
            .freed = ids<EngineId>(c.freed, c.freed_count),
            .drained = ids<EngineId>(c.drained, c.drained_count),
            .too_large = ids<RequestId>(c.too_large, c.too_large_count),
            .move_limit = c.move_limit,
            .certificate = {c.certificate.engines, c.certificate.bound, c.certificate.within != 0,
                            c.certificate.properties != 0}};
  for (std::size_t i = 0; i < c.preemption_count; ++i) {
    const aqua_packer_preemption& p = c.preemptions[i];
    plan.preemptions.push_back({RequestId{p.request}, EngineId{p.engine}, p.tokens});
  }
  for (std::size_t i = 0; i < c.move_count; ++i) {
    const aqua_packer_move& m = c.moves[i];
    plan.moves.push_back({RequestId{m.request}, EngineId{m.from}, EngineId{m.to},
                          static_cast<Reason>(m.reason), m.tokens, m.bytes, m.stage,
                          m.dropped != 0});
  }
  for (std::size_t i = 0; i < c.placement_count; ++i)
    plan.placements.push_back(to_cpp(c.placements[i]));
  return plan;
}

class PackerTranslation : public ::testing::TestWithParam<const char*> {
 protected:
  PackerTranslation() {
    aqua_packer_options options = AQUA_PACKER_OPTIONS_INIT;
    options.watermark = 0.1;
    options.max_move_tokens = 4000;
    options.bytes_per_token = 3;
    EXPECT_EQ(code_of(aqua_packer_create(GetParam(), &options, &c_)), AQUA_OK);
    cpp_ =
        make_packer(GetParam(), {.watermark = 0.1, .max_move_tokens = 4000, .bytes_per_token = 3})
            .value();
  }
  ~PackerTranslation() override { EXPECT_EQ(code_of(aqua_packer_free(c_)), AQUA_OK); }

  void join(std::uint64_t id) {
    aqua_packer_engine engine = AQUA_PACKER_ENGINE_INIT;
    engine.id = id;
    engine.kv_tokens = 800 + 16 * random_() % 400;
    engine.server = id / 2;
    engine.domain = id / 4;
    engine.wake_cost = static_cast<double>(random_() % 3);
    ASSERT_EQ(code_of(aqua_packer_join(c_, &engine)), AQUA_OK);
    ASSERT_TRUE(cpp_->join({.id = EngineId{id},
                            .kv_tokens = engine.kv_tokens,
                            .server = ServerId{engine.server},
                            .domain = DomainId{engine.domain},
                            .wake_cost = engine.wake_cost})
                    .ok());
  }
  void arrive() {
    aqua_packer_request request = AQUA_PACKER_REQUEST_INIT;
    request.id = ++last_;
    request.tokens = 1 + random_() % 500;
    request.max_new = random_() % 50;
    request.prefix = random_() % 3;
    request.prefix_tokens = request.prefix != 0 ? std::min<std::uint64_t>(request.tokens, 64) : 0;
    if (request.prefix_tokens < 64) request.prefix = request.prefix_tokens = 0;
    aqua_packer_placement placed{};
    ASSERT_EQ(code_of(aqua_packer_arrive(c_, &request, &placed)), AQUA_OK);
    const auto expected = cpp_->arrive({.id = RequestId{request.id},
                                        .tokens = request.tokens,
                                        .max_new = request.max_new,
                                        .prefix = PrefixId{request.prefix},
                                        .prefix_tokens = request.prefix_tokens});
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(to_cpp(placed), *expected);
    tokens_[request.id] = request.tokens;
  }
  void grow_or_end() {
    if (tokens_.empty()) return;
    auto at = tokens_.lower_bound(random_() % last_);
    if (at == tokens_.end()) at = tokens_.begin();
    if (random_() % 3 == 0) {
      EXPECT_EQ(code_of(aqua_packer_ended(c_, at->first)), AQUA_OK);
      EXPECT_TRUE(cpp_->ended(RequestId{at->first}).ok());
      tokens_.erase(at);
      return;
    }
    at->second += random_() % 60;
    EXPECT_EQ(code_of(aqua_packer_grew(c_, at->first, at->second)), AQUA_OK);
    EXPECT_TRUE(cpp_->grew(RequestId{at->first}, at->second).ok());
  }
  void plan() {
    aqua_packer_plan made = AQUA_PACKER_PLAN_INIT;
    ASSERT_EQ(code_of(aqua_packer_epoch(c_, &made)), AQUA_OK);
    const Plan expected = cpp_->epoch();
    EXPECT_EQ(to_cpp(made), expected);
    moves_ += expected.moves.size();
    for (const Move& move : expected.moves) {
      const auto id = static_cast<std::uint64_t>(move.request);
      const bool failed = random_() % 4 == 0;
      EXPECT_EQ(code_of(failed ? aqua_packer_failed(c_, id, made.number)
                               : aqua_packer_moved(c_, id, made.number)),
                AQUA_OK);
      EXPECT_TRUE((failed ? cpp_->failed(move.request, expected.number)
                          : cpp_->moved(move.request, expected.number))
                      .ok());
    }
  }
  void lose(std::uint64_t engine) {
    const std::uint64_t* lost = nullptr;
    std::size_t count = 0;
    ASSERT_EQ(code_of(aqua_packer_lost(c_, engine, &lost, &count)), AQUA_OK);
    EXPECT_EQ(ids<RequestId>(lost, count), cpp_->lost(EngineId{engine}).value());
  }
  void compare_status() {
    aqua_packer_status c = AQUA_PACKER_STATUS_INIT;
    ASSERT_EQ(code_of(aqua_packer_get_status(c_, &c)), AQUA_OK);
    const PackerStatus told{c.waiting,     c.resident,    c.moving,     c.asleep, c.active,
                            c.draining,    c.held_tokens, c.held_bytes, c.moves,  c.moved_tokens,
                            c.moved_bytes, c.preemptions, c.looked_at};
    EXPECT_EQ(told, cpp_->status());
  }

  std::mt19937_64 random_{7};
  aqua_packer c_{};
  std::unique_ptr<Packer> cpp_;
  std::map<std::uint64_t, std::uint64_t> tokens_;
  std::uint64_t last_ = 0;
  std::size_t moves_ = 0;
};

TEST_P(PackerTranslation, EveryAnswerIsThatOfCpp) {
  for (std::uint64_t id = 1; id <= 12; ++id) join(id);
  for (int i = 0; i < 600; ++i) {
    if (random_() % 3 == 0) arrive();
    grow_or_end();
    if (i % 5 == 0) plan();
    if (i == 300) lose(1);
    compare_status();
  }
  const std::string policy = GetParam();
  EXPECT_EQ(moves_ > 0, policy != "bf" && policy != "wf");
}

INSTANTIATE_TEST_SUITE_P(Policies, PackerTranslation,
                         ::testing::Values("pack", "mell", "drain", "lb", "wf", "bf"),
                         [](const auto& policy) { return std::string(policy.param); });

}  // namespace
}  // namespace aqua::test
