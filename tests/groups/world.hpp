// SPDX-License-Identifier: Apache-2.0
// A book with one group and numbered clients, for tests that read as sentences. After every step
// check_invariants() holds, and a refused call has changed nothing.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "groups/book.hpp"

namespace aqua::groups::test {

template <typename Tag>
Id128<Tag> make_id(std::uint8_t kind, std::uint64_t n) {
  Id128<Tag> id;
  id.bytes[0] = kind;
  for (std::size_t i = 0; i < 8; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
  return id;
}
inline ClientId client(std::uint64_t n) {
  return make_id<ClientTag>(0xc1, n);
}
inline GroupId group_id(std::uint64_t n) {
  return make_id<GroupTag>(0x96, n);
}
inline constexpr std::uint32_t kUser = 1000;
inline Caller caller(std::uint64_t n) {
  return {client(n), kUser};
}
inline Rank decode(std::uint32_t stage, std::uint32_t tensor = 0) {
  return {Role::decode, stage, tensor};
}
inline Topology stages(std::uint32_t decode_stages) {
  return {.prefill = {}, .decode = {.stages = decode_stages, .tensor = 1}};
}
inline Shape shape() {
  return {.model = "llama", .dtype = "f16", .layout = "[block][token][head][dim]"};
}

class World : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCreator = 99;

  // Runs a call on the book: what it did is committed, what it refused has changed nothing.
  template <typename Work>
  Result<void> call(Work&& work) {
    const auto before = book.groups();
    Result<void> outcome = work();
    if (!outcome.ok()) {
      EXPECT_EQ(book.groups(), before) << outcome.error().message;
      EXPECT_TRUE(book.touched().empty());
    }
    EXPECT_EQ(book.check_invariants(), "");
    book.commit();
    return outcome;
  }
  template <typename Work>
  void accepted(Work&& work) {
    const Result<void> outcome = call(work);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  }
  template <typename Work>
  void refused(Code code, Work&& work) {
    const Result<void> outcome = call(work);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, code) << outcome.error().message;
  }

  Result<void> create(std::uint32_t decode_stages) {
    return book.create(id, "chat", stages(decode_stages), shape(), caller(kCreator));
  }
  Result<void> join(std::uint64_t who, std::optional<Rank> rank) {
    return book.join(id, caller(who), {concat("engine ", who), shape(), rank});
  }
  Result<void> acknowledge(std::uint64_t who, std::vector<Watermark> marks = {}) {
    return book.acknowledge(id, client(who), term(), std::move(marks));
  }
  Result<void> resumed(std::uint64_t who) { return book.resumed(id, client(who), term()); }
  Result<void> gone(std::uint64_t who) {
    book.gone(client(who));
    return {};
  }
  Result<void> silent(std::uint64_t who, bool is_silent) {
    for (const auto& [each, group] : std::map(book.groups()))
      book.silent(each, client(who), is_silent);
    return {};
  }
  // Ranks 0 to n - 1 by clients 1 to n, all of them.
  void run(std::uint32_t n) {
    accepted([&] { return create(n); });
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      accepted([&] { return join(rank + 1, decode(rank)); });
    }
    EXPECT_EQ(state(), State::running);
  }

  [[nodiscard]] bool there() const { return book.groups().contains(id); }
  [[nodiscard]] const Group& group() const { return book.groups().at(id); }
  [[nodiscard]] State state() const { return there() ? group().state : State::closed; }
  [[nodiscard]] Term term() const { return there() ? group().term : 1; }
  [[nodiscard]] std::optional<Rank> rank_of(std::uint64_t who) const {
    return group().members.at(client(who)).rank;
  }

  Book book;
  const GroupId id = group_id(1);
};

}  // namespace aqua::groups::test
