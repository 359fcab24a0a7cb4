// SPDX-License-Identifier: Apache-2.0
// What a ReplicaReader does with segments that are not simply the owner's packs.
#include "aqua/kv_stream/replica_reader.hpp"

#include <gtest/gtest.h>

#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::Ids;
using test::ids_of;
using test::ReplicaStage;
using test::value_of;

using ReplicaReaders = test::ReplicasFixture;

TEST_F(ReplicaReaders, PacksOfAnotherLifeEndNoTermAndAreReadByNobodyWhoDoesNotNameIt) {
  const Ids ids = ids_of(1, 20), other = ids_of(2, 20);
  {
    ReplicaStage former(keeper_.socket());
    auto options = former.options();
    options.owner.life = "a";
    options.term = 5;
    former.replicate(options);
    write(former, 7, ids, 20);
  }
  ReplicaStage stage(keeper_.socket());
  auto options = stage.options();
  options.owner.life = "b";
  stage.replicate(options);
  write(stage, 7, other, 20);

  auto reader = stage.reader(/*term=*/2, "b");
  EXPECT_EQ(reader.watermark(7, other, 64), 20U);
  EXPECT_EQ(reader.watermark(7, ids, 64), 0U) << "of the other life";
  EXPECT_EQ(reader.status().other_lives, 1U);
  EXPECT_EQ(reader.status().refused, 0U);
  EXPECT_EQ(stage.reader(/*term=*/6, "a").watermark(7, ids, 64), 20U) << "by its name";

  test::succeeds(reader.finish(stage.stream()));
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 1U) << "what the other life has left";
  reader = stage.reader(/*term=*/3, "b");
  test::succeeds(reader.drop_other_lives());
  EXPECT_EQ(reader.status().other_lives, 0U);
  { const auto let_go = std::move(reader); }
  EXPECT_EQ(kept(), 0U);
}

}  // namespace
}  // namespace aqua
