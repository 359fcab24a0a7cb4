// SPDX-License-Identifier: Apache-2.0
// KV pools on a GPU: what one process's kernels wrote is what another's read, and what becomes of
// the blocks of a process that is killed at work.
#include <charconv>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "aqua/handoff/pools.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/gpu/sharing/checks.hpp"
#include "tests/gpu/sharing/pool_member.hpp"
#include "tests/gpu/sharing/scene.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Answer;
using first_contact::Clock;

constexpr unsigned kRounds = 40;
constexpr unsigned kOfVictim = 5;  // blocks that are written when it dies
constexpr unsigned kOfParcel = 3;  // and of the parcel that it has taken
constexpr std::chrono::seconds kPatience{20};

// Its answer, which is to be a number.
Result<unsigned> number(Other& member, const std::string& words) {
  const std::string said = member.ask(words);
  unsigned value = 0;
  const auto [end, failed] = std::from_chars(said.data(), said.data() + said.size(), value);
  if (failed == std::errc{} && end == said.data() + said.size()) return value;
  return Error{Code::internal, concat(words, ": ", said.empty() ? "died" : said)};
}

// Asks it, and wants this answer.
Result<void> want(Other& member, const std::string& words, const std::string& answer) {
  const std::string said = member.ask(words);
  if (said == answer) return {};
  return Error{Code::internal, concat(words, ": ", said.empty() ? "died" : said)};
}

Result<PoolStatus> row_once(const std::function<bool(const PoolStatus&)>& wanted) {
  const auto end = Clock::now() + kPatience;
  for (;;) {
    AQUA_ASSIGN(const auto rows, list_pools());
    if (rows.size() == 1 && wanted(rows[0])) return rows[0];
    if (Clock::now() > end) return Error{Code::deadline_exceeded, "the pool stays as it is"};
    std::this_thread::yield();
  }
}

}  // namespace

Result<Answer> pool_handoff() {
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  AQUA_ASSIGN(Other prefill, Other::start("member prefill"));
  AQUA_ASSIGN(Other decode, Other::start("member decode"));
  unsigned blocks = 0;
  const auto start = Clock::now();
  for (unsigned round = 1; round <= kRounds; ++round) {
    const std::string id = concat("r", round);
    const unsigned count = 1 + round % 7;
    AQUA_TRY(want(prefill, concat("hand ", id, " ", count, " ", round), "ok"));
    AQUA_TRY(want(decode, "take", id));
    AQUA_TRY(want(decode, "finish", "ok"));
    blocks += count;
  }
  const double each = first_contact::microseconds_since(start) / kRounds;
  return Answer{
      .yes = !keeper.has_driver(),
      .detail = concat(kRounds, " parcels, ", blocks, " blocks, each byte right; ", each,
                       " us for one, with making and comparing its bytes; the keeper has ",
                       keeper.has_driver() ? "THE DRIVER" : "no driver"),
      .figures = {{"parcels", kRounds}, {"blocks", blocks}, {"us_each", each}}};
}

Result<Answer> pool_kill() {
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  AQUA_ASSIGN(Other prefill, Other::start("member prefill"));
  AQUA_TRY(want(prefill, concat("hand a ", kOfParcel, " 1"), "ok"));
  unsigned greedy = 0;  // blocks that are had while the dead one's kernels write
  {
    AQUA_ASSIGN(Other victim, Other::start("member decode"));
    AQUA_TRY(want(victim, "take", "a"));
    AQUA_TRY(want(victim, concat("work ", kOfVictim), "ok"));
    victim.kill();
    AQUA_TRY(row_once([](const PoolStatus& row) { return row.quarantined >= kOfVictim; }));
    AQUA_ASSIGN(greedy, number(prefill, "fill all 100"));
    AQUA_TRY(want(prefill, "check", "ok"));
  }  // and its child, which has kept the driver's files open, ends
  AQUA_ASSIGN(const PoolStatus dead, row_once([](const PoolStatus&) { return true; }));
  AQUA_TRY(want(prefill, "check", "ok"));
  AQUA_TRY(want(prefill, "drop", "ok"));
  AQUA_ASSIGN(Other successor, Other::start("member decode"));
  AQUA_TRY(want(successor, "take", "a?"));
  AQUA_TRY(want(successor, "finish", "ok"));
  AQUA_TRY(release_quarantined("contact"));
  AQUA_ASSIGN(const unsigned after, number(prefill, "fill all 500"));
  AQUA_TRY(want(prefill, "check", "ok"));
  return Answer{
      .yes = dead.quarantined >= kOfVictim && after > greedy &&
             greedy + dead.quarantined + kOfParcel == kPoolBlocks,
      .detail = concat("of ", kPoolBlocks, " blocks ", dead.quarantined,
                       " are nobody's after the kill, ", greedy,
                       " are another's and keep their bytes; its parcel comes to a successor with "
                       "its tail in doubt; released, ",
                       after, " can be had"),
      .figures = {
          {"quarantined", dead.quarantined}, {"had_meanwhile", greedy}, {"had_afterwards", after}}};
}

}  // namespace aqua::sharing_contact
