// SPDX-License-Identifier: Apache-2.0
#include "model/shape.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace aqua::pipeline {
namespace {

const ModelShape kModel;

TEST(PipelineShape, IsStagesTimesRanks) {
  EXPECT_EQ(parse_shape("3x1"), (PipelineShape{3, 1}));
  EXPECT_EQ(to_string(PipelineShape{2, 12}), "2x12");
  for (const char* const wrong :
       {"", "3", "x", "3x", "x1", "0x1", "1x0", "-1x1", "1x1x1", "2 x 2", "99999999999x1"})
    EXPECT_EQ(parse_shape(wrong), std::nullopt) << wrong;
}

TEST(PipelineShape, WhatDoesNotDivideTheModelIsRefused) {
  EXPECT_EQ(refusal(kModel, {7, 12}), std::nullopt);
  EXPECT_EQ(refusal(kModel, {8, 1}), "8 stages are more than the model's 7 layers");
  EXPECT_EQ(refusal(kModel, {1, 4}), "4 ranks do not divide 12 query heads over 6 KV heads");
  EXPECT_EQ(refusal(kModel, {1, 24}), "24 ranks do not divide 12 query heads over 6 KV heads");
}

// Each layer's query heads are computed once; KV heads lie where those are that read them.
TEST(PipelineShape, PartsCoverTheModelOnce) {
  for (unsigned stages = 1; stages <= kModel.layers; ++stages) {
    for (const unsigned ranks : {1U, 2U, 3U, 6U, 12U}) {
      std::map<std::pair<unsigned, unsigned>, unsigned> computed;
      for (unsigned stage = 0; stage < stages; ++stage) {
        for (unsigned rank = 0; rank < ranks; ++rank) {
          const Part part = part_of(kModel, {stages, ranks}, stage, rank);
          EXPECT_GE(part.layers.count, kModel.layers / stages);
          std::set<unsigned> read;
          for (unsigned q = 0; q < part.query_heads.count; ++q) {
            read.insert((part.query_heads.first + q) / 2);
            for (unsigned l = 0; l < part.layers.count; ++l)
              ++computed[{part.layers.first + l, part.query_heads.first + q}];
          }
          EXPECT_EQ(*read.begin(), part.kv_heads.first);
          EXPECT_EQ(read.size(), part.kv_heads.count);
        }
      }
      EXPECT_EQ(computed.size(), kModel.layers * kModel.query_heads);
      for (const auto& [where, times] : computed) EXPECT_EQ(times, 1U);
    }
  }
}

}  // namespace
}  // namespace aqua::pipeline
