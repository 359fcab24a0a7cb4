// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/trim_order.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace aqua::sharing {
namespace {

struct Version {
  Unread unread;
  std::uint64_t last_used = 0;
  bool stays = false;
  std::set<std::uint32_t> here{}, in_host_memory{}, anywhere{};  // shards
};

}  // namespace

std::vector<Unread> trim_order(std::span<const ModelCopy> copies, const std::string& device) {
  std::map<std::pair<std::string, std::string>, Version> versions;
  std::map<std::string, std::set<std::string>> of_model;  // versions here that can be attached
  for (const ModelCopy& copy : copies) {
    Version& version = versions[{copy.model, copy.version}];
    if (!copy.filling) version.anywhere.insert(copy.shard);
    if (copy.spare && !copy.filling) version.in_host_memory.insert(copy.shard);
    if (copy.device != device) continue;
    version.unread.model = copy.model;
    version.unread.version = copy.version;
    version.unread.shards = copy.shards;
    version.unread.bytes += copy.bytes;
    version.last_used = std::max(version.last_used, copy.last_used);
    version.stays |= copy.readers > 0 || copy.readers_unknown || copy.filling || copy.superseded;
    version.here.insert(copy.shard);
    if (!copy.superseded) of_model[copy.model].insert(copy.version);
  }
  std::vector<Version> unread;
  for (auto& [name, version] : versions) {
    const bool whole = version.anywhere.size() == version.unread.shards;
    if (version.here.empty() || version.stays || !whole || of_model[name.first].size() > 1)
      continue;
    version.unread.host_has_some = !version.in_host_memory.empty();
    std::ranges::set_difference(version.here, version.in_host_memory,
                                std::back_inserter(version.unread.missing));
    unread.push_back(std::move(version));
  }
  std::ranges::stable_sort(unread, {}, &Version::last_used);
  std::vector<Unread> order;
  order.reserve(unread.size());
  for (Version& version : unread) order.push_back(std::move(version.unread));
  return order;
}

}  // namespace aqua::sharing
