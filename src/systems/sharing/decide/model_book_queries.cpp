// SPDX-License-Identifier: Apache-2.0
// What ModelBook is asked, and changes nothing.
#include <algorithm>

#include "systems/sharing/decide/model_book.hpp"

namespace aqua::sharing {

bool ModelBook::Version::shows() const {
  std::set<std::uint32_t> there;
  for (const auto& [id, copy] : copies) {
    if (!copy.writer) there.insert(copy.shard);
  }
  return there.size() == shards;
}

bool ModelBook::Version::has(std::uint32_t wanted, const DeviceUuid& where) const {
  return std::any_of(copies.begin(), copies.end(), [&](const auto& entry) {
    const Copy& copy = entry.second;
    return copy.shard == wanted && copy.device == where && !copy.writer;
  });
}

bool ModelBook::Version::unread() const {
  return std::all_of(copies.begin(), copies.end(),
                     [](const auto& copy) { return copy.second.readers.empty(); });
}

ModelBook::Versions::iterator ModelBook::find(const std::string& model,
                                              const std::string& version) {
  return std::find_if(versions_.begin(), versions_.end(), [&](const auto& entry) {
    return entry.second.model == model && entry.second.name == version;
  });
}

ModelBook::Versions::iterator ModelBook::newest_shown(const ShardName& name,
                                                      const DeviceUuid& device) {
  auto newest = versions_.end();
  auto newest_here = versions_.end();
  for (auto it = versions_.begin(); it != versions_.end(); ++it) {
    const Version& version = it->second;
    if (version.model != name.model || version.retired || !version.shows()) continue;
    newest = it;
    if (version.has(name.shard, device)) newest_here = it;
  }
  return newest_here != versions_.end() ? newest_here : newest;
}

ModelBook::Versions::iterator ModelBook::version_of(CopyId copy) {
  return std::find_if(versions_.begin(), versions_.end(),
                      [&](const auto& entry) { return entry.second.copies.contains(copy); });
}

std::vector<CopyId> ModelBook::copies_of(const std::string& model,
                                         const std::string& version) const {
  std::vector<CopyId> copies;
  for (const auto& [number, known] : versions_) {
    if (known.model != model || known.name != version) continue;
    for (const auto& [id, copy] : known.copies) copies.push_back(id);
  }
  return copies;
}

ModelBook::Opened ModelBook::opened_as(CopyId copy) const {
  for (const auto& [number, version] : versions_) {
    const auto found = version.copies.find(copy);
    if (found == version.copies.end()) continue;
    return {
        .shard = {.model = version.model,
                  .version = version.name,
                  .shard = found->second.shard,
                  .shards = version.shards},
        .device = found->second.device,
        .as = {.spare = found->second.spare, .restored = found->second.restored, .order = number}};
  }
  return {};
}

const ModelBook::Copy* ModelBook::find_copy(CopyId copy) const {
  for (const auto& [number, version] : versions_) {
    const auto found = version.copies.find(copy);
    if (found != version.copies.end()) return &found->second;
  }
  return nullptr;
}

bool ModelBook::knows(ClientNumber client) const {
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& version) {
    const auto& copies = version.second.copies;
    return std::any_of(copies.begin(), copies.end(), [&](const auto& copy) {
      return copy.second.writer == client || copy.second.readers.contains(client);
    });
  });
}

bool ModelBook::fills(ClientNumber writer, CopyId copy) const {
  const Copy* const found = find_copy(copy);
  return found != nullptr && found->writer == writer;
}

bool ModelBook::reads(ClientNumber reader, CopyId copy) const {
  const Copy* const found = find_copy(copy);
  return found != nullptr && found->readers.contains(reader);
}

bool ModelBook::may_come(const ShardName& name, const DeviceUuid& device) const {
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& entry) {
    const Version& version = entry.second;
    if (version.model != name.model || version.shards != name.shards || version.retired) {
      return false;
    }
    const bool shows = version.shows();
    return (name.version.empty() || version.name == name.version) &&
           std::any_of(version.copies.begin(), version.copies.end(), [&](const auto& known) {
             const Copy& copy = known.second;
             return copy.shard == name.shard && copy.device == device && (copy.writer || !shows);
           });
  });
}

std::vector<VersionStatus> ModelBook::status() const {
  std::vector<VersionStatus> all;
  for (const auto& [number, version] : versions_) {
    VersionStatus status{.model = version.model,
                         .version = version.name,
                         .shards = version.shards,
                         .shows = version.shows(),
                         .superseded = version.retired};
    for (const auto& [id, copy] : version.copies) {
      status.copies.push_back({.id = id,
                               .shard = copy.shard,
                               .device = copy.device,
                               .filling = copy.writer.has_value(),
                               .spare = copy.spare,
                               .readers_unknown = copy.restored,
                               .readers = copy.readers.size(),
                               .last_used = copy.last_used});
    }
    all.push_back(std::move(status));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.model < b.model; });
  return all;
}

}  // namespace aqua::sharing
