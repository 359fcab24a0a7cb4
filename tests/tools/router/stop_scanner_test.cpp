// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/stop_scanner.hpp"

#include <gtest/gtest.h>

#include <random>

namespace aqua::router {
namespace {

TEST(StopScanner, KeepsBackWhatMayBeAStop) {
  StopScanner scanner({"\n\nUser:"});
  EXPECT_EQ(scanner.feed("hello\n"), "hello");
  EXPECT_EQ(scanner.feed("\nUs"), "");
  EXPECT_EQ(scanner.feed("ed"), "\n\nUsed");
  EXPECT_EQ(scanner.feed("\n\nUser: x"), "");
  EXPECT_TRUE(scanner.stopped());
  EXPECT_EQ(scanner.feed("more"), "");
  EXPECT_EQ(scanner.finish(), "");
}

TEST(StopScanner, SaysWhatItKeptOnceTheAnswerEnds) {
  StopScanner scanner({"abc", ""});
  EXPECT_EQ(scanner.feed("xab"), "x");
  EXPECT_EQ(scanner.finish(), "ab");
}

// However it is cut, the text is all before the stop that is complete first.
TEST(StopScanner, IsTheSameHoweverTheTextIsCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto draw = [&](std::size_t most) {
      std::string text(1 + random() % most, 'a');
      for (char& c : text) c = static_cast<char>('a' + random() % 2);
      return text;
    };
    const std::vector<std::string> stops{draw(4), draw(4)};
    const std::string text = draw(20);
    std::string expected = text;
    for (std::size_t n = 1; n <= text.size(); ++n) {
      std::size_t first = std::string::npos;
      for (const std::string& stop : stops) first = std::min(first, text.substr(0, n).find(stop));
      if (first == std::string::npos) continue;
      expected = text.substr(0, first);
      break;
    }
    StopScanner scanner(stops);
    std::string said;
    for (const char c : text) said += scanner.feed(std::string(1, c));
    said += scanner.finish();
    EXPECT_EQ(said, expected) << text << " by " << stops[0] << ", " << stops[1];
  }
}

}  // namespace
}  // namespace aqua::router
