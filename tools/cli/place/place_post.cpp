// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/place/place_post.hpp"

#include <map>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::tool {
namespace {

using Names = std::multimap<std::string, ClientId>;

// already_exists where nobody could say which of several clients is meant.
Result<void> unambiguous(std::string_view coordinator, const Names& clients,
                         std::span<const place::NamedPair> pairs) {
  for (const place::NamedPair& pair : pairs) {
    for (const std::string& name : {pair.producer, pair.consumer}) {
      if (clients.count(name) <= 1) continue;
      return Error{Code::already_exists,
                   concat(coordinator, ": ", clients.count(name), " clients are named '", name,
                          "'; nothing was posted")};
    }
  }
  return {};
}

}  // namespace

Result<std::string> post_pairs(std::string_view coordinator,
                               std::span<const place::NamedPair> pairs) {
  AQUA_ASSIGN(const wire::State state, admin::fetch_state(coordinator));
  Names clients;
  for (const auto& client : state.clients) clients.emplace(client.info.name, client.info.id);
  AQUA_TRY(unambiguous(coordinator, clients, pairs));
  std::vector<wire::Pair> wanted;
  std::string missing;
  for (const auto& [producer, consumer] : pairs) {
    const auto p = clients.find(producer);
    const auto c = clients.find(consumer);
    if (p != clients.end() && c != clients.end()) {
      wanted.push_back({p->second, c->second});
    } else if (p != clients.end() || c != clients.end()) {
      missing += concat("  not there: '", p == clients.end() ? producer : consumer,
                        "', to be paired with '", p == clients.end() ? consumer : producer, "'\n");
    }
  }
  std::size_t made = 0;
  for (const wire::Pair& pair : wanted) {
    const auto posted = admin::set_pair(coordinator, pair);
    if (!posted.ok()) {
      return Error{posted.error().code, concat(coordinator, ": ", posted.error().message, "; ",
                                               made, " of ", wanted.size(), " pairs were made")};
    }
    ++made;
  }
  return concat(coordinator, ": ", made, " pairs made\n", missing);
}

Result<std::vector<std::string>> coordinators_of(const wire::Servers& servers,
                                                 std::string_view asked) {
  if (!servers.fault.empty()) {
    return Error{Code::failed_precondition,
                 concat(asked, ": which servers there are is not known: ", servers.fault)};
  }
  std::vector<std::string> all;
  for (const wire::Server& server : servers.servers) {
    const bool is_asked = server.name == servers.self;
    if (!is_asked && server.coordinator.empty()) {
      return Error{Code::failed_precondition,
                   concat(asked, ": server ", server.name,
                          " says no address where it is asked (--advertise); nothing was posted")};
    }
    all.emplace_back(is_asked ? asked : std::string_view(server.coordinator));
  }
  return all;
}

}  // namespace aqua::tool
