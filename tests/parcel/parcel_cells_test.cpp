// SPDX-License-Identifier: Apache-2.0
// The table of docs/engine/handover.md, cell by cell.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parcel/parcel_book.hpp"
#include "tests/base/code_of.hpp"
#include "tests/page_table.hpp"

namespace aqua {
namespace {

constexpr MemberNumber kGiver = 1, kTaker = 2, kOtherGiver = 3, kOtherTaker = 4;
constexpr std::uint64_t kNumber = 1;

// By state and call.
std::map<std::string, std::map<std::string, std::string>> read_table() {
  std::map<std::string, std::map<std::string, std::string>> table;
  const auto rows = aqua::test::page_table(AQUA_HANDOVER_DOC, "| state | ");
  for (std::size_t r = 2; r < rows.size(); ++r) {
    for (std::size_t i = 1; i < rows[r].size() && i < rows[0].size(); ++i) {
      table[rows[r][0]][rows[0][i]] = rows[r][i];
    }
  }
  return table;
}

// A book in which parcel 1 is in this state.
ParcelBook in_state(const std::string& state) {
  ParcelBook book;
  const auto must = [](const auto& result) { EXPECT_TRUE(result.ok()); };
  must(book.join(kGiver, "prefill"));
  must(book.join(kOtherGiver, "prefill"));
  must(book.join(kTaker, "decode"));
  must(book.join(kOtherTaker, "decode"));
  must(book.reserve(kGiver, "decode", {"r", 1}));
  if (state == "reserved") return book;
  must(book.admit(kTaker, "prefill", 1));
  if (state == "open") return book;
  must(book.close(kGiver, kNumber, 7, "note"));
  if (state == "closed") return book;
  if (state != "held") must(book.accept(kTaker));
  if (state == "taken") return book;
  if (state == "confirmed") {
    must(book.confirm(kTaker, kNumber));
    return book;
  }
  must(book.open(kOtherGiver, "decode", {"r", 3}));
  if (state == "replaced") must(book.close(kOtherGiver, kNumber + 1, 7, ""));
  return book;
}

std::string state_of(const ParcelBook& book) {
  const ParcelBook::Record* const record = book.find(kNumber);
  if (record == nullptr) return "ended";
  if (record->replaced) return "replaced";
  if (record->superseded) return "superseded";
  switch (record->state) {
    case ParcelState::reserved:
      return "reserved";
    case ParcelState::open:
      return "open";
    case ParcelState::closed:
      return book.waiting_for(kTaker) + book.waiting_for(kOtherTaker) == 0 ? "held" : "closed";
    case ParcelState::taken:
      return "taken";
    case ParcelState::confirmed:
      return "confirmed";
  }
  return "";
}

const std::map<std::string, std::function<std::string(ParcelBook&)>>& calls() {
  static const std::map<std::string, std::function<std::string(ParcelBook&)>> all{
      {"open",
       [](auto& b) {
         return code_of(b.open(kOtherGiver, "decode", {"r", 9}));
       }},
      {"close", [](auto& b) { return code_of(b.close(kGiver, kNumber, 8, "n")); }},
      {"recall", [](auto& b) { return code_of(b.recall(kGiver, kNumber)); }},
      {"accept",
       [](auto& b) {
         // Whoever has promised room, else another one.
         const bool by_taker = b.next_for(kTaker) != 0;
         return code_of(b.accept(by_taker ? kTaker : kOtherTaker));
       }},
      {"confirm", [](auto& b) { return code_of(b.confirm(kTaker, kNumber)); }},
      {"finish", [](auto& b) { return code_of(b.finish(kTaker, kNumber)); }},
      {"cancel", [](auto& b) { return code_of(b.cancel("r")); }},
      {"giver's end",
       [](auto& b) {
         b.end(kGiver);
         return std::string("ok");
       }},
      {"taker's end", [](auto& b) {
         b.end(kTaker);
         return std::string("ok");
       }}};
  return all;
}

class ParcelCells : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(States, ParcelCells,
                         ::testing::Values("reserved", "open", "closed", "held", "taken",
                                           "confirmed", "superseded", "replaced"),
                         [](const auto& state) { return state.param; });

TEST_P(ParcelCells, AreAsThePageSays) {
  const auto table = read_table();
  ASSERT_TRUE(table.contains(GetParam()));
  ASSERT_EQ(table.at(GetParam()).size(), calls().size());
  EXPECT_EQ(state_of(in_state(GetParam())), GetParam());
  for (const auto& [call, expected] : table.at(GetParam())) {
    ParcelBook book = in_state(GetParam());
    const ParcelBook before = book;
    const std::string ended = calls().at(call)(book);
    EXPECT_EQ(ended == "ok" ? state_of(book) : ended, expected) << GetParam() << ", " << call;
    EXPECT_TRUE(ended == "ok" || book == before) << GetParam() << ", " << call << " changed it";
  }
}

}  // namespace
}  // namespace aqua
