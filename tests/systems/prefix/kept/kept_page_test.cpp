// SPDX-License-Identifier: Apache-2.0
// The example of docs/engine/scheduling.md, in two processes, between which the keeper is killed.
#include "tests/systems/prefix/kept/kept_fixture.hpp"

namespace aqua::test {
namespace {

class KeptPage : public KeptPrefixCache {
 protected:
  [[nodiscard]] std::string run() const {
    testing::ChildProcess page({"/usr/bin/env", "AQUA_KEEPER=" + keeper_.socket(), AQUA_KEPT_PAGE});
    const std::string line = page.read_line();
    EXPECT_EQ(page.wait(), 0);
    return line;
  }
};

TEST_F(KeptPage, PrintsWhatThePageSays) {
  EXPECT_EQ(run(), "0 of 512 tokens were there, 2 blocks are kept");
  await_disk();
  keeper_.kill();
  start();
  EXPECT_EQ(run(), "512 of 512 tokens were there, 2 blocks are kept");
}

}  // namespace
}  // namespace aqua::test
