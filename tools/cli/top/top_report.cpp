// SPDX-License-Identifier: Apache-2.0
// What `aqua top` shows, from what the router and the coordinator say.
#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/cli/top/top_command.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 2> kKinds{"kv", "tokens"};
constexpr std::size_t kMostFault = 60;

struct Fleet {
  Json engines{}, requests{}, moves{}, memory{};
};

Result<Json> list_in(const std::string& text, const char* name) {
  Json answer = parse_shallow(text);
  if (!answer.is_object() || !answer.contains(name) || !answer.at(name).is_array())
    return Error{Code::data_loss, concat("the router lists no ", name)};
  for (const Json& one : answer.at(name)) {
    if (!one.is_object()) return Error{Code::data_loss, concat("no object among ", name)};
  }
  return std::move(answer.at(name));
}

double sum_of(const std::string& metrics, const std::string& name, const char* kind,
              const char* outcome) {
  double sum = 0;
  for (const http::MetricSample& sample : http::find_metric(metrics, name)) {
    const auto has = [&](const char* label, const char* value) {
      const auto found = sample.labels.find(label);
      return found != sample.labels.end() && found->second == value;
    };
    if (has("kind", kind) && (outcome == nullptr || has("outcome", outcome))) sum += sample.value;
  }
  return std::isfinite(sum) ? sum : 0;
}

// Moves of a kind that failed, by reason; what did not happen is left out.
Json failures_of(const std::string& metrics, const char* kind) {
  Json failures = Json::object();
  for (const auto& sample : http::find_metric(metrics, "aqua_router_move_failures_total")) {
    const auto of = sample.labels.find("kind"), reason = sample.labels.find("reason");
    if (of == sample.labels.end() || of->second != kind || reason == sample.labels.end()) continue;
    if (std::isfinite(sample.value) && sample.value > 0) failures[reason->second] = sample.value;
  }
  return failures;
}

// The mean of a histogram; null where nothing is in it.
Json mean_of(const std::string& metrics, const std::string& name, const char* kind) {
  const double count = sum_of(metrics, name + "_count", kind, nullptr);
  if (count <= 0) return nullptr;
  return sum_of(metrics, name + "_sum", kind, nullptr) / count;
}

Result<Fleet> fleet_of(const TopSources& sources) {
  Fleet fleet;
  AQUA_ASSIGN(fleet.engines, list_in(sources.engines, "engines"));
  AQUA_ASSIGN(fleet.requests, list_in(sources.requests, "requests"));
  fleet.moves = Json::array();
  for (const char* kind : kKinds) {
    constexpr const char* kMoves = "aqua_router_moves_total";
    fleet.moves.push_back(
        {{"kind", kind},
         {"done", sum_of(sources.metrics, kMoves, kind, "done")},
         {"failed", sum_of(sources.metrics, kMoves, kind, "failed")},
         {"ended", sum_of(sources.metrics, kMoves, kind, "ended")},
         {"failures", failures_of(sources.metrics, kind)},
         {"seconds", mean_of(sources.metrics, "aqua_router_move_seconds", kind)},
         {"pause_seconds", mean_of(sources.metrics, "aqua_router_move_pause_seconds", kind)}});
  }
  if (!sources.memory.empty()) {
    fleet.memory = parse_shallow(sources.memory);
    if (!fleet.memory.is_object() || !fleet.memory.contains("loans") ||
        !fleet.memory.at("loans").is_array())
      return Error{Code::data_loss, "the coordinator lists no loans"};
  }
  return fleet;
}

// What others said, without anything that a terminal would obey.
std::string printable(std::string text, std::size_t most) {
  text.resize(std::min(text.size(), most));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string text_in(const Json& object, const char* name, std::size_t most = 24) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return "-";
  return printable(found->get<std::string>(), most);
}

std::uint64_t number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

void row(std::ostringstream& out, const std::string& name, const auto&... columns) {
  out << std::left << std::setw(24) << name << std::right;
  ((out << ' ' << std::setw(10) << columns), ...);
  out << '\n';
}

std::string milliseconds(const Json& seconds) {
  return seconds.is_number() ? report::fixed(seconds.get<double>() * 1000, 1) : "-";
}

void add_requests(std::ostringstream& out, Json& requests, std::size_t most) {
  out << '\n';
  row(out, concat("requests (", requests.size(), ")"), "on", "moves to", "tokens");
  std::vector<const Json*> largest;
  for (const Json& request : requests) largest.push_back(&request);
  std::ranges::stable_sort(largest, [](const Json* a, const Json* b) {
    return number_in(*a, "tokens") > number_in(*b, "tokens");
  });
  for (std::size_t i = 0; i < std::min(most, largest.size()); ++i) {
    const Json& request = *largest[i];
    row(out, text_in(request, "name"), text_in(request, "engine", 10),
        text_in(request, "moves_to", 10), number_in(request, "tokens"));
  }
  if (largest.size() > most) out << "and " << largest.size() - most << " more\n";
}

}  // namespace

Result<std::string> render_top(const TopSources& sources, std::size_t most) {
  AQUA_ASSIGN(Fleet fleet, fleet_of(sources));
  std::ostringstream out;
  row(out, concat("engines (", fleet.engines.size(), ")"), "state", "requests", "tokens", "of");
  for (const Json& engine : fleet.engines) {
    row(out, text_in(engine, "name"), text_in(engine, "state", 10), number_in(engine, "requests"),
        number_in(engine, "held_tokens"), number_in(engine, "usable_tokens"));
    if (text_in(engine, "fault") != "-")
      out << "    " << text_in(engine, "fault", kMostFault) << '\n';
  }
  add_requests(out, fleet.requests, most);
  out << '\n';
  row(out, "moves", "done", "failed", "ms", "pause ms");
  for (const Json& kind : fleet.moves) {
    row(out, concat("by ", text_in(kind, "kind")), report::fixed(kind.at("done").get<double>(), 0),
        report::fixed(kind.at("failed").get<double>(), 0), milliseconds(kind.at("seconds")),
        milliseconds(kind.at("pause_seconds")));
    for (const auto& [reason, count] : kind.at("failures").items())
      out << "    " << printable(reason, kMostFault) << ": "
          << report::fixed(count.get<double>(), 0) << '\n';
  }
  if (fleet.memory.is_object()) {
    out << '\n';
    row(out, concat("lent memory (", fleet.memory.at("loans").size(), ")"), "to", "MiB");
    for (const Json& loan : fleet.memory.at("loans")) {
      if (!loan.is_object()) continue;
      row(out, text_in(loan, "producer"), text_in(loan, "consumer", 10),
          number_in(loan, "bytes") >> 20);
    }
  }
  return out.str();
}

Result<std::string> render_top_json(const TopSources& sources) {
  AQUA_ASSIGN(const Fleet fleet, fleet_of(sources));
  return Json{{"engines", fleet.engines},
              {"requests", fleet.requests},
              {"moves", fleet.moves},
              {"memory", fleet.memory}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace aqua::tool
