// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy_news.hpp"

#include <gmock/gmock.h>

namespace aqua::runtime {
namespace {

using device::CopyCounts;
using device::Info;
using device::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Info info_of(Kind kind) {
  Info info;
  info.kind = kind;
  return info;
}
const Info kGpu = info_of(Kind::cuda);

TEST(CopyNews, EachReasonIsToldOnce) {
  CopyNews news(kGpu);
  CopyCounts counts{.kernel = 5, .unreachable = 1};
  EXPECT_TRUE(news.any(counts));
  EXPECT_THAT(news.take(counts), ElementsAre(HasSubstr("reach")));
  ++counts.unreachable;
  EXPECT_FALSE(news.any(counts));
  EXPECT_THAT(news.take(counts), IsEmpty());
  counts.full = 1;
  counts.refused = 1;
  counts.batches_hang = true;
  EXPECT_TRUE(news.any(counts));
  EXPECT_THAT(news.take(counts),
              ElementsAre(HasSubstr("room"), HasSubstr("refused"), HasSubstr("hang")));
  EXPECT_THAT(news.take(counts), IsEmpty());
}

TEST(CopyNews, CopiesThatGoAsPlannedAreNone) {
  CopyNews news(kGpu);
  EXPECT_FALSE(news.any({.kernel = 1, .batched = 2, .each = 3, .unsupported = 4}));
}

TEST(CopyNews, ADeviceWithOneWayHasNone) {
  const Info emulated = info_of(Kind::emulated);
  CopyNews news(emulated);
  EXPECT_FALSE(news.any({.each = 1, .unsupported = 1, .unreachable = 1}));
}

}  // namespace
}  // namespace aqua::runtime
