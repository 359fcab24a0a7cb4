// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/admin.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/shallow_json.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string engine_list(const std::vector<EngineView>& engines,
                        const std::string& coordinator_page) {
  Json list = Json::array();
  for (const EngineView& engine : engines) {
    Json faults = Json::object();
    for (std::size_t i = 0; i < engine.faults.size(); ++i)
      faults[kFaultNames[i]] = engine.faults[i];
    list.push_back({{"name", engine.name},
                    {"url", engine.url},
                    {"state", engine.state},
                    {"model", engine.model},
                    {"dialect", engine.dialect},
                    {"pool", engine.pool},
                    {"pool_away", engine.pool_away},
                    {"fault", engine.fault},
                    {"told_tokens", engine.told_tokens},
                    {"usable_tokens", engine.usable_tokens},
                    {"held_tokens", engine.held_tokens},
                    {"requests", engine.requests},
                    {"faults", std::move(faults)}});
  }
  return text_of({{"engines", std::move(list)}, {"coordinator_page", coordinator_page}});
}

std::string request_list(std::vector<RequestView> requests, std::optional<std::size_t> most) {
  const std::size_t total = requests.size();
  if (most && *most < total) {
    std::ranges::stable_sort(requests, std::ranges::greater(), &RequestView::tokens);
    requests.resize(*most);
  }
  Json list = Json::array();
  for (const RequestView& request : requests) {
    list.push_back({{"name", request.name},
                    {"engine", request.engine},
                    {"moves_to", request.moves_to},
                    {"tokens", request.tokens},
                    {"by_operator", request.by_operator},
                    {"stays", request.stays},
                    {"move_failed", request.move_failed},
                    {"move_failed_reason", request.failed_as}});
  }
  return text_of({{"requests", std::move(list)}, {"total", total}});
}

Result<std::optional<std::size_t>> parse_most(std::string_view most) {
  if (most.empty()) return std::optional<std::size_t>();
  std::size_t number = 0;
  const char* const end = most.data() + most.size();
  if (const auto [at, fault] = std::from_chars(most.data(), end, number);
      fault != std::errc{} || at != end)
    return Error{Code::invalid_argument, "most: expected a number"};
  return std::optional(number);
}

std::string move_list(const MoveCounts& counts, const std::vector<MoveView>& last) {
  Json kinds = Json::array(), moves = Json::array();
  for (const migration::Kind kind : kMoveKinds) {
    Json failed = Json::object();
    for (const MoveEnd end : kMoveFailures) failed[name_of(end)] = counts.of(kind, end);
    kinds.push_back({{"kind", name_of(kind)},
                     {"done", counts.of(kind, MoveEnd::done)},
                     {"ended", counts.of(kind, MoveEnd::ended)},
                     {"failed", std::move(failed)}});
  }
  for (const MoveView& move : last) {
    const auto at =
        std::chrono::duration_cast<std::chrono::milliseconds>(move.at.time_since_epoch());
    moves.push_back({{"number", move.number},
                     {"request", move.request},
                     {"from", move.from},
                     {"to", move.to},
                     {"kind", name_of(move.kind)},
                     {"end", name_of(move.end)},
                     {"cause", move.cause},
                     {"why", move.why},
                     {"took_ms", move.took.count()},
                     {"at_ms", at.count()}});
  }
  return text_of({{"moves", std::move(kinds)}, {"last", std::move(moves)}});
}

Result<AskedMove> parse_move(std::string_view body) {
  const Error wrong{Code::invalid_argument,
                    R"(expected {"to": "ENGINE"}, and perhaps "by": "tokens")"};
  const Json asked = parse_shallow(body);
  if (!asked.is_object() || !asked.contains("to") || !asked.at("to").is_string()) return wrong;
  const auto by = asked.find("by");
  if (asked.size() != (by == asked.end() ? 1U : 2U)) return wrong;
  if (by != asked.end() && *by != "tokens") return wrong;
  return AskedMove{asked.at("to").get<std::string>(), by != asked.end()};
}

}  // namespace aqua::router
