// SPDX-License-Identifier: Apache-2.0
// What becomes of a model's logits, and of its tokens' bytes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "compute/draw.hpp"
#include "compute/model.hpp"

namespace aqua::fleet {
namespace {

TEST(FleetDraw, AtTemperatureZeroTheLikeliestIsTaken) {
  const std::array<float, 5> logits{1, 3, -2, 3, 2};
  for (std::uint32_t position = 0; position < 50; ++position)
    EXPECT_EQ(draw(logits, {.seed = position, .temperature = 0}, position), 1U);
  const std::array<Token, 2> never{1, 3};
  EXPECT_EQ(draw(logits, {.temperature = 0}, 0, never), 4U);
}

TEST(FleetDraw, BySeedAndPositionAlone) {
  const std::array<float, 3> logits{0, 0, 0};
  std::array<std::size_t, 2> others{};
  for (std::uint32_t i = 0; i < 300; ++i) {
    const Token drawn = draw(logits, {.seed = 7}, i);
    EXPECT_EQ(draw(logits, {.seed = 7}, i), drawn);
    others[0] += draw(logits, {.seed = 8}, i) != drawn ? 1U : 0U;
    others[1] += draw(logits, {.seed = 7}, i + 1000) != drawn ? 1U : 0U;
  }
  // Two in three of those that have nothing to do with each other.
  for (const std::size_t count : others) EXPECT_NEAR(static_cast<double>(count), 200, 45);
}

TEST(FleetDraw, AsOftenAsTheModelSays) {
  constexpr std::uint32_t kDraws = 20'000;
  const std::array<float, 4> logits{std::log(6.0F), std::log(3.0F), std::log(1.0F), 9};
  const std::array<Token, 1> never{3};
  std::map<Token, double> share;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    share[draw(logits, {.seed = 3}, i, never)] += 1.0 / kDraws;
  EXPECT_NEAR(share[0], 0.6, 0.02);
  EXPECT_NEAR(share[1], 0.3, 0.02);
  EXPECT_NEAR(share[2], 0.1, 0.02);
  EXPECT_EQ(share.size(), 3U);
  // Half as warm, twice as decided: 36 to 9 to 1.
  double likeliest = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    likeliest += draw(logits, {.seed = 3, .temperature = 0.5F}, i, never) == 0 ? 1.0 / kDraws : 0;
  EXPECT_NEAR(likeliest, 36.0 / 46, 0.02);
}

// A token is one of these pieces.
class Pieces final : public Model {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  [[nodiscard]] std::string name() const override { return "pieces"; }
  [[nodiscard]] std::uint32_t context() const override { return 100; }
  [[nodiscard]] KvPoolShape kv_shape(std::uint32_t /*blocks*/) const override { return {}; }
  void use(const Layout& /*cache*/) override {}
  [[nodiscard]] std::vector<Token> compute(std::span<const Work> /*work*/) override { return {}; }
  [[nodiscard]] Result<std::vector<Token>> tokens_of(const Text& /*text*/) const override {
    return std::vector<Token>{};
  }
  [[nodiscard]] bool has(Token token) const override { return token < pieces_.size(); }
  [[nodiscard]] std::string bytes_of(Token token) const override { return pieces_.at(token); }
  [[nodiscard]] bool ends(Token /*token*/) const override { return false; }

 private:
  std::vector<std::string> pieces_;
};

std::vector<std::string> told(const std::vector<std::string>& pieces) {
  const Pieces model(pieces);
  std::vector<Token> answer;
  std::vector<std::string> texts;
  for (Token token = 0; token < pieces.size(); ++token) {
    answer.push_back(token);
    texts.push_back(last_text(model, answer));
  }
  return texts;
}

TEST(FleetText, TellsCharactersOnceTheyAreComplete) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(told({"a", "bc", "", "d"}), (Texts{"a", "bc", "", "d"}));
  // An e with an accent, and a face, in bytes and in other pieces.
  EXPECT_EQ(told({"\xC3", "\xA9", "x"}), (Texts{"", "\xC3\xA9", "x"}));
  EXPECT_EQ(told({"\xF0", "\x9F", "\x98", "\x80", "x"}),
            (Texts{"", "", "", "\xF0\x9F\x98\x80", "x"}));
  EXPECT_EQ(told({"\xF0", "", "\x9F", "", "\x98", "", "\x80"}),
            (Texts{"", "", "", "", "", "", "\xF0\x9F\x98\x80"}));
  EXPECT_EQ(told({"a\xF0\x9F", "", "\x98\x80\xC3", "\xA9"}),
            (Texts{"a", "", "\xF0\x9F\x98\x80", "\xC3\xA9"}));
  EXPECT_EQ(told({"a\xC3", "b"}), (Texts{"a",
                                         "\xC3"
                                         "b"}))
      << "one that never is";
}

}  // namespace
}  // namespace aqua::fleet
