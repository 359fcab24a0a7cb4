// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/slab_story.hpp"

#include <charconv>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/find_client.hpp"

namespace aqua::tool {
namespace {

// What happened, in words; the ledger's event where there is nothing better.
std::string told(const wire::StoryEntry& entry) {
  const std::string who = entry.holder_name.empty() && entry.holder
                              ? to_string(*entry.holder).substr(0, 8)
                              : concat(entry.holder_name, " (process ", entry.holder_pid, ")");
  const std::string by = entry.holder ? concat(" by ", who) : std::string();
  const std::string why = entry.reclaim != 0 ? concat(", for reclaim ", entry.reclaim) : "";
  if (entry.event == "offer") return "offered";
  if (entry.event == "redeclare") return concat("declared as held", by);
  if (entry.event == "withdraw") return "withdrawn by its producer";
  if (entry.event == "grant") return concat("leased", by);
  if (entry.event == "renew") return concat("holder is back: ", who);
  if (entry.event == "silence") return concat("holder is silent: ", who);
  if (entry.event == "reclaim")
    return entry.holder ? concat("revoked from ", who, why) : concat("taken back", why);
  if (entry.event == "give_back") return concat("returned", by, why);
  if (entry.event == "holder_dead") return concat("holder is dead: ", who);
  if (entry.event == "producer_dead") return "its producer is gone";
  if (entry.event == "scrub") return concat("scrubbed", why);
  if (entry.event == "late") return concat("past its deadline, held", by, why);
  return entry.event;
}

std::string time_of_day(double wall) {
  const auto seconds = static_cast<std::time_t>(std::floor(wall));
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::ostringstream out;
  out << std::put_time(&local, "%F %T") << '.' << std::setfill('0') << std::setw(3)
      << static_cast<int>((wall - std::floor(wall)) * 1000);
  return std::move(out).str();
}

}  // namespace

Result<ledger::SlabId> find_slab(const wire::State& state, std::string_view text) {
  const std::size_t slash = text.rfind('/');
  std::uint32_t index = 0;
  const std::string_view number =
      slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (number.empty() || fault != std::errc{} || end != number.data() + number.size()) {
    return Error{Code::invalid_argument,
                 concat("slab: '", text, "' is not PRODUCER/INDEX, as in producer-0/3")};
  }
  AQUA_ASSIGN(const ClientId producer, find_client(state, "slab", text.substr(0, slash)));
  return ledger::SlabId{producer, index};
}

std::string render(const wire::SlabStory& story, ledger::Time now, double wall) {
  std::ostringstream out;
  out << "slab " << to_string(story.slab) << ", " << story.bytes << " bytes\n";
  if (story.forgotten > 0) out << "(" << story.forgotten << " earlier events are forgotten)\n";
  for (const wire::StoryEntry& entry : story.entries) {
    const double ago = std::chrono::duration<double>(now - entry.at).count();
    out << time_of_day(wall - ago) << "  " << std::left << std::setw(12) << to_string(entry.to)
        << "generation " << std::setw(4) << entry.generation << told(entry) << '\n';
  }
  return std::move(out).str();
}

}  // namespace aqua::tool
