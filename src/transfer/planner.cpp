// SPDX-License-Identifier: Apache-2.0
#include "transfer/planner.hpp"

#include <iomanip>
#include <sstream>

namespace aqua::transfer {
namespace {

std::size_t count_possible(const Choice& choice) {
  std::size_t n = 0;
  for (const Estimate& e : choice.estimates) n += e.possible ? 1U : 0U;
  return n;
}

void write_rate(std::ostringstream& out, std::size_t bytes, double seconds) {
  out << std::setw(12) << seconds * 1e6 << " us" << std::setw(10)
      << static_cast<double>(bytes) / seconds * 1e-9 << " GB/s";
}

}  // namespace

Choice choose(const CurveSet& curves, const Job& job) noexcept {
  Choice choice;
  choice.measured = curves.measured(job.link);
  const Estimate* fastest = nullptr;
  for (const Way way : kWays) {
    Estimate& e = choice.estimates[static_cast<std::size_t>(way)];
    e.way = way;
    e.possible = job.possible.has(way);
    if (way == Way::staged && job.pieces.count() < 2) e.possible = false;
    e.seconds = curves.at(job.link, job.direction, way).seconds(job.pieces);
    if (!e.possible || e.seconds <= 0) continue;
    if (fastest == nullptr || e.seconds < fastest->seconds) fastest = &e;
  }
  if (job.pieces.bytes() == 0) return choice;
  choice.reason = Reason::only_one;
  if (fastest == nullptr) {
    for (const Estimate& e : choice.estimates) {
      if (!e.possible) continue;
      choice.way = e.way;
      break;
    }
    return choice;
  }
  choice.way = fastest->way;
  if (count_possible(choice) == 1) return choice;
  choice.reason = Reason::fastest;
  for (const Estimate& e : choice.estimates) {
    const bool as_fast = e.possible && e.seconds > 0 && e.seconds * (1 - kTie) < fastest->seconds;
    if (!as_fast) continue;
    if (&e != fastest) choice.reason = Reason::as_fast;
    choice.way = e.way;
    break;  // the first in order of preference
  }
  const Estimate& staged = choice.estimates[static_cast<std::size_t>(Way::staged)];
  const bool by_engines = job.link == Link::host && job.possible.has(Way::batched);
  if (by_engines && choice.way < Way::staged && staged.possible && staged.seconds > 0 &&
      staged.seconds * (1 - kSteady) < choice.seconds()) {
    choice.way = Way::staged;
    choice.reason = Reason::steady;
  }
  return choice;
}

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::nothing_to_move:
      return "there is nothing to move";
    case Reason::asked_for:
      return "the caller asked for it";
    case Reason::only_one:
      return "no other way is possible";
    case Reason::fastest:
      return "it is the fastest";
    case Reason::as_fast:
      return "it is as fast as the fastest and takes less from the engine";
    case Reason::steady:
      return "it is nearly as fast as the fastest, and stays so with both directions at work";
  }
  return "";
}

std::string explain(const Job& job, const Choice& choice) {
  std::ostringstream out;
  const Pieces& pieces = job.pieces;
  out << std::fixed << std::setprecision(1) << to_string(job.direction) << " over the "
      << to_string(job.link) << " link: " << pieces.bytes() << " bytes in " << pieces.count()
      << (pieces.count() == 1 ? " piece" : " pieces");
  if (pieces.count() > 1) {
    out << " of "
        << static_cast<double>(pieces.bytes()) / static_cast<double>(pieces.count()) / 1024
        << " KiB on average";
  }
  out << "\n  curves: " << (choice.measured ? "measured on this machine" : "built in, not measured")
      << '\n';
  for (const Estimate& e : choice.estimates) {
    out << (e.way == choice.way ? "  * " : "    ") << std::left << std::setw(8) << to_string(e.way)
        << std::right;
    if (e.seconds > 0) write_rate(out, pieces.bytes(), e.seconds);
    if (e.seconds <= 0) out << "  no curve";
    if (!e.possible) out << "  (not possible here)";
    out << '\n';
  }
  out << "  " << to_string(choice.way) << ": " << to_string(choice.reason) << '\n';
  return std::move(out).str();
}

}  // namespace aqua::transfer
