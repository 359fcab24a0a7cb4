// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/operator.hpp"

#include <string>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "southbound/http_call.hpp"
#include "southbound/link.hpp"
#include "tools/admin/https_call.hpp"
#include "wire/problem.hpp"
#include "wire/slabs.hpp"

namespace aqua::admin {
namespace {

using southbound::CallOutcome;
using southbound::HttpRequest;
using southbound::Link;

Result<CallOutcome> call(std::string_view coordinator, const HttpRequest& request,
                         southbound::Clock::time_point deadline) {
  if (is_https(coordinator)) {
    AQUA_ASSIGN(const curl::Origin address, curl::parse_origin(coordinator));
    return https_call(address, request, deadline);
  }
  AQUA_ASSIGN(const wire::Address address, wire::parse_address(coordinator));
  return southbound::http_call(address, request, deadline, nullptr);
}

template <typename Reply>
Result<Reply> ask(std::string_view coordinator, const HttpRequest& request,
                  std::chrono::milliseconds patience) {
  AQUA_ASSIGN(CallOutcome outcome, call(coordinator, request, southbound::Clock::now() + patience));
  if (!outcome.reply) {
    if (outcome.error.code == Code::deadline_exceeded) outcome.error.code = Code::unavailable;
    return std::move(outcome.error);
  }
  if (outcome.reply->status == 200) return Link::decoded<Reply>(outcome.reply->body);
  AQUA_ASSIGN(wire::Problem refusal, Link::decoded<wire::Problem>(outcome.reply->body));
  return std::move(refusal.error);
}

}  // namespace

Result<wire::State> fetch_state(std::string_view coordinator, std::chrono::milliseconds patience) {
  return ask<wire::State>(coordinator, {"GET", "/v1/state", {}, {}}, patience);
}

Result<wire::SlabStory> fetch_story(std::string_view coordinator, const ledger::SlabId& slab,
                                    std::chrono::milliseconds patience) {
  return ask<wire::SlabStory>(
      coordinator, {"GET", concat("/v1/slabs/", to_string(slab), "/events"), {}, {}}, patience);
}

Result<wire::Info> fetch_info(std::string_view coordinator, std::chrono::milliseconds patience) {
  return ask<wire::Info>(coordinator, {"GET", "/v1/info", {}, {}}, patience);
}

Result<wire::Servers> fetch_servers(std::string_view coordinator,
                                    std::chrono::milliseconds patience) {
  return ask<wire::Servers>(coordinator, {"GET", "/v1/servers", {}, {}}, patience);
}

Result<void> set_pair(std::string_view coordinator, const wire::Pair& pair,
                      std::chrono::milliseconds patience) {
  const HttpRequest request{"PUT", "/v1/pairs", {}, wire::encode(wire::PairRequest{pair})};
  AQUA_TRY(ask<wire::Ack>(coordinator, request, patience));
  return {};
}

Result<void> remove_pair(std::string_view coordinator, const ClientId& consumer,
                         std::chrono::milliseconds patience) {
  AQUA_TRY(ask<wire::Ack>(coordinator,
                          {"DELETE", concat("/v1/pairs/", to_string(consumer)), {}, {}}, patience));
  return {};
}

Result<std::uint64_t> recall(std::string_view coordinator, const wire::RecallRequest& request,
                             std::chrono::milliseconds patience) {
  AQUA_ASSIGN(const auto reply,
              ask<wire::ReclaimReply>(
                  coordinator, {"POST", "/v1/recalls", {}, wire::encode(request)}, patience));
  return reply.reclaim.id;
}

Result<void> drain(std::string_view coordinator, const wire::DrainRequest& request,
                   std::chrono::milliseconds patience) {
  AQUA_TRY(
      ask<wire::Ack>(coordinator, {"POST", "/v1/drains", {}, wire::encode(request)}, patience));
  return {};
}

Result<void> end_drain(std::string_view coordinator, const ClientId& client,
                       std::chrono::milliseconds patience) {
  AQUA_TRY(ask<wire::Ack>(coordinator, {"DELETE", concat("/v1/drains/", to_string(client)), {}, {}},
                          patience));
  return {};
}

Result<wire::Groups> fetch_groups(std::string_view coordinator,
                                  std::chrono::milliseconds patience) {
  return ask<wire::Groups>(coordinator, {"GET", "/v1/groups", {}, {}}, patience);
}

Result<groups::Group> fetch_group(std::string_view coordinator, const groups::GroupId& group,
                                  std::chrono::milliseconds patience) {
  AQUA_ASSIGN(wire::GroupReply reply,
              ask<wire::GroupReply>(
                  coordinator, {"GET", concat("/v1/groups/", to_string(group)), {}, {}}, patience));
  return std::move(reply.group);
}

Result<void> end_group(std::string_view coordinator, const groups::GroupId& group,
                       std::chrono::milliseconds patience) {
  AQUA_TRY(ask<wire::Ack>(coordinator, {"DELETE", concat("/v1/groups/", to_string(group)), {}, {}},
                          patience));
  return {};
}

}  // namespace aqua::admin
