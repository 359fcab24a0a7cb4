// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/quoted_lengths.hpp"

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

TEST(QuotedLengths, HaveTheMeansThatWereQuoted) {
  for (const char* name : {"sharegpt", "alpaca"}) {
    const QuotedLengths quoted = must(find_quoted_lengths(name));
    const Trace trace = draw_lengths(quoted);
    double prompts = 0, outputs = 0;
    std::uint32_t longest = 0;
    for (const TraceRequest& request : trace.requests) {
      ASSERT_GE(std::min(request.prompt_tokens, request.output_tokens), 1U);
      longest = std::max(longest, request.prompt_tokens + request.output_tokens);
      prompts += request.prompt_tokens;
      outputs += request.output_tokens;
    }
    const auto count = static_cast<double>(trace.requests.size());
    EXPECT_NEAR(prompts / count / quoted.prompt_mean, 1, 0.03) << quoted.name;
    EXPECT_NEAR(outputs / count / quoted.output_mean, 1, 0.03) << quoted.name;
    EXPECT_LE(longest, kQuotedContext);
    EXPECT_EQ(draw_lengths(quoted, 10).requests, draw_lengths(quoted, 10).requests);
  }
  EXPECT_NE(find_quoted_lengths("sharegtp").error().message.find("sharegpt, alpaca"),
            std::string::npos);
}

}  // namespace
}  // namespace aqua::sim::test
