#include "tools/place_post.hpp"

#include <map>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "place/report.hpp"
#include "southbound/operator.hpp"

namespace aqua::tool {

Result<std::string> post_pairs(std::string_view coordinator, const place::Cluster& cluster,
                               const place::Placement& placement) {
  AQUA_ASSIGN(const wire::State state, southbound::fetch_state(coordinator));
  std::multimap<std::string, ClientId> clients;
  for (const auto& client : state.clients) clients.emplace(client.info.name, client.info.id);
  std::vector<wire::Pair> wanted;
  std::string missing;
  for (const place::Pair& pair : placement.pairs) {
    const std::string producer = place::shard_name(cluster, pair.producer);
    const std::string consumer = place::shard_name(cluster, pair.consumer);
    for (const std::string& name : {producer, consumer}) {
      if (clients.count(name) > 1) {
        return Error{Code::already_exists,
                     concat(coordinator, ": ", clients.count(name), " clients are named '", name,
                            "'; nothing was posted")};
      }
    }
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
    const auto posted = southbound::set_pair(coordinator, pair);
    if (!posted.ok()) {
      return Error{posted.error().code, concat(coordinator, ": ", posted.error().message, "; ",
                                               made, " of ", wanted.size(), " pairs were made")};
    }
    ++made;
  }
  return concat(coordinator, ": ", made, " pairs made\n", missing);
}

}  // namespace aqua::tool
