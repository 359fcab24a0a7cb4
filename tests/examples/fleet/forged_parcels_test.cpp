// SPDX-License-Identifier: Apache-2.0
// What another member of the pool hands to an engine that waits for a parcel, and grants that no
// router gives: refused by name, while streams beside go on.
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <string>
#include <utility>

#include "aqua/migration/note.hpp"
#include "aqua/runtime.hpp"
#include "compute/toy.hpp"
#include "serve/cache.hpp"
#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using namespace aqua::literals;
using migration::MigrationNote;
using router::test::becomes;
using router::test::request_of;

constexpr std::uint64_t kAttemptTurn = 2;
constexpr std::uint32_t kAnswered = 10;  // of the prompt's ids
// As fleet_engine's is by default.
constexpr pipeline::ModelShape kToyShape{
    .layers = 2, .kv_heads = 2, .query_heads = 4, .head_bytes = 16};
constexpr unsigned kBlockTokens = 16;

// A parcel, as an engine would close it.
struct Handed {
  MigrationNote note{};
  std::uint32_t tokens = 0;
  std::uint32_t blocks = 0;
};

Handed honest() {
  const auto prompt = prompt_of(1);
  const auto known = static_cast<std::uint32_t>(prompt.size());
  return {.note = {.prompt_tokens = known - kAnswered,
                   .generated_tokens = kAnswered,
                   .kv_tokens = known - 1,
                   .max_new_tokens = 500,
                   .pending_token = prompt.back(),
                   .model = ToyModel(kToyShape, kBlockTokens).name()},
          .tokens = known - 1,
          .blocks = (known - 2) / kBlockTokens + 1};
}

// A request that waits for its parcel on the engine.
class Attempt {
 public:
  Attempt(const FleetEngine& engine, std::string request)
      : name_(Json::object({{"request", std::move(request)}, {"turn", kAttemptTurn}})),
        orders_(http::parse_url(engine.url()).value(), {}),
        client_(http::parse_url(engine.url()).value(), {}) {
    Json body = request_of(prompt_of(1), 1, 500);
    body["aqua"] = name_;
    body["aqua"].update({{"answered", kAnswered}, {"receive", true}});
    stream_ = std::async(std::launch::async, [this, text = body.dump()] {
      (void)client_.post("/v1/completions", text, [this](std::string_view more, auto) {
        const std::lock_guard lock(mu_);
        said_ += more;
        return http::Heard::something;
      });
    });
    EXPECT_TRUE(says("reserved"));
  }
  ~Attempt() { client_.stop(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Waits until it has said so.
  [[nodiscard]] bool says(const std::string& what) {
    return becomes([&] {
      const std::lock_guard lock(mu_);
      return said_.find(what) != std::string::npos;
    });
  }
  void order(Json more) {
    more.update(name_);
    const auto reply = orders_.post("/aqua/v1/orders", more.dump(),
                                    [](std::string_view, auto) { return http::Heard::something; });
    EXPECT_TRUE(reply.ok() && reply->status == 200);
  }

 private:
  const Json name_;
  http::HttpClient orders_, client_;
  std::mutex mu_;
  std::string said_{};
  std::future<void> stream_{};
};

class ForgedParcels : public ::testing::Test {
 protected:
  void hand_over(const std::string& request, const Handed& handed,
                 std::uint64_t turn = kAttemptTurn) {
    hand_over(request, handed, migration::encode(handed.note).value(), turn);
  }
  void hand_over(const std::string& request, const Handed& handed, const std::string& note,
                 std::uint64_t turn = kAttemptTurn) {
    KvPool& pool = forger_.pool();
    const auto number = pool.open({request, turn}, "engine-b").value();
    const Blocks blocks = forger_.try_take(handed.blocks).value();
    EXPECT_TRUE(pool.close(number, blocks, handed.tokens, note, forger_.stream()).ok());
  }
  void TearDown() override {
    beside_.expect_all_right();
    EXPECT_TRUE(becomes([&] { return engine_.holds_nothing() && keeper_.holds_nothing(); }));
    EXPECT_EQ(engine_.metric("fleet_moved_in_total"), 0);
  }

  const Keeper keeper_;
  const FleetEngine engine_{keeper_, "engine-b", {"--iteration-ms", "2"}};
  Runtime runtime_ = Runtime::open({.device = "emu:0",
                                    .coordinator = "none",
                                    .name = "forger",
                                    .host_bytes = 2_MiB,
                                    .curve_directory = "off",
                                    .emulated = {.total_bytes = 64_GiB}})
                         .value();
  ToyModel model_{kToyShape, kBlockTokens};
  Cache forger_{runtime_, {.role = "forger", .keeper = keeper_.socket()}, model_};
  Clients beside_{engine_.url(), 2, 100};
};

TEST_F(ForgedParcels, AreRefusedByName) {
  struct Forgery {
    const char* name;
    void (*forge)(Handed&);
    const char* why;
  };
  const Forgery forgeries[] = {
      {"other_model", [](Handed& it) { it.note.model = "another"; }, "of model 'another'"},
      {"tokens", [](Handed& it) { it.note.kind = migration::Kind::tokens; }, "which tokens the KV"},
      {"less_kv", [](Handed& it) { it.note.kv_tokens -= 1; }, "which tokens the KV"},
      {"longer_prompt", [](Handed& it) { it.note.prompt_tokens += 1; }, "its ids"},
      {"longer_answer", [](Handed& it) { it.note.generated_tokens += 1; }, "its ids"},
      {"other_pending", [](Handed& it) { it.note.pending_token += 1; }, "its ids"},
      {"more_blocks", [](Handed& it) { it.blocks += 1; }, "its blocks"},
      {"more_than_its_room",  // of ids that are all the pending one
       [](Handed& it) {
         it.note.generated_tokens += 500;
         for (int i = 0; i < 500; ++i)
           it.note.engine_state.append(reinterpret_cast<const char*>(&it.note.pending_token), 4);
       },
       "its blocks"},
  };
  for (const Forgery& forgery : forgeries) {
    SCOPED_TRACE(forgery.name);
    Attempt attempt(engine_, forgery.name);
    Handed handed = honest();
    forgery.forge(handed);
    hand_over(forgery.name, handed);
    EXPECT_TRUE(attempt.says(R"("event":"failed","reason":"refused")"));
    EXPECT_TRUE(attempt.says(forgery.why));
  }
  Attempt attempt(engine_, "no_note");
  hand_over("no_note", honest(), "AQMX");
  EXPECT_TRUE(attempt.says("does not begin with AQMN"));
}

// Its own comes under the turn of the attempt.
TEST_F(ForgedParcels, OfAnotherTurnEndAndAreNotTaken) {
  Attempt attempt(engine_, "r");
  hand_over("r", honest(), kAttemptTurn + 1);
  EXPECT_TRUE(becomes([&] { return !forger_.pool().deliveries().empty(); })) << "it has ended";
  attempt.order({{"order", "source_died"}});
  EXPECT_TRUE(attempt.says("its source died before all was here"));
}

TEST_F(ForgedParcels, GrantsOfPositionsThatAnEngineHasNotAreRefused) {
  for (const std::uint32_t position : {kAnswered - 1, kAnswered + 1}) {
    const std::string request = "r" + std::to_string(position);
    Attempt attempt(engine_, request);
    hand_over(request, honest());
    EXPECT_TRUE(attempt.says("confirmed"));
    attempt.order({{"order", "grant"}, {"position", position}});
    EXPECT_TRUE(attempt.says("it was granted a position that it has not"));
  }
}

}  // namespace
}  // namespace aqua::fleet::test
