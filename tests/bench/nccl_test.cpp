// SPDX-License-Identifier: Apache-2.0
// NCCL is found by name or file and given a message, over one that pretends (pretended_nccl.cpp).
#include "gpu/nccl.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>

namespace aqua::bench {
namespace {

void* number(std::uintptr_t n) {
  return reinterpret_cast<void*>(n);
}

TEST(Nccl, IsUnavailableWhereThereIsNone) {
  const auto none = Nccl::load("/nowhere/libnccl.so.2");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::unavailable);
  EXPECT_THAT(none.error().message, ::testing::HasSubstr("/nowhere/libnccl.so.2"));
}

TEST(Nccl, IsUnavailableInALibraryWithoutIt) {
  const auto other = Nccl::load("libm.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::unavailable);
  EXPECT_THAT(other.error().message, ::testing::HasSubstr("libm.so.6 has no nccl"));
}

TEST(Nccl, SendsFromTheFirstRankToTheLast) {
  for (const std::size_t gpus : {1U, 2U}) {
    const auto nccl = Nccl::load(AQUA_PRETENDED_NCCL);
    ASSERT_TRUE(nccl.ok()) << nccl.error().message;
    EXPECT_EQ((*nccl)->version(), 22809);
    const std::array all{0, 1};
    ASSERT_TRUE((*nccl)->join(std::span(all).first(gpus)).ok());
    const std::array from{std::byte{1}, std::byte{2}, std::byte{3}};
    std::array<std::byte, 3> to{};
    void* const last = gpus == 1 ? number(100) : number(201);
    const auto sent = (*nccl)->send(from.data(), to.data(), 3, number(100), last);
    EXPECT_TRUE(sent.ok()) << sent.error().message;
    EXPECT_EQ(to, from);
  }
}

TEST(Nccl, TellsWhatACallRefused) {
  const auto nccl = Nccl::load(AQUA_PRETENDED_NCCL);
  ASSERT_TRUE(nccl.ok());
  const auto joined = (*nccl)->join({});
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().message, "ncclCommInitAll: invalid argument");
}

}  // namespace
}  // namespace aqua::bench
