// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/model_book.hpp"

#include <algorithm>
#include <iterator>

#include "base/concat.hpp"

namespace aqua::sharing {
namespace {

constexpr int kMostNamed = 8;  // devices in a message

Error other_shards(const char* what, const ShardName& name, std::uint32_t shards) {
  return Error{Code::invalid_argument, concat(what, ": ", name.model, " ", name.version, " has ",
                                              shards, " shards, not ", name.shards)};
}

}  // namespace

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
    return {.shard = {.model = version.model,
                      .version = version.name,
                      .shard = found->second.shard,
                      .shards = version.shards},
            .device = found->second.device};
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

Result<CopyId> ModelBook::open(ClientNumber writer, const ShardName& name,
                               const DeviceUuid& device) {
  auto version = find(name.model, name.version);
  if (version != versions_.end()) {
    Version& known = version->second;
    if (known.shards != name.shards) return other_shards("publish", name, known.shards);
    if (known.retired) {
      return Error{Code::failed_precondition,
                   concat("publish: ", name.model, " ", name.version,
                          " is superseded: publish under the name of a new version")};
    }
    for (const auto& [id, copy] : known.copies) {
      if (copy.shard != name.shard || copy.device != device) continue;
      return Error{
          Code::already_exists,
          concat("publish: ", name.model, " ", name.version, " shard ", name.shard,
                 copy.writer ? " is being published" : " is published", " on ", to_string(device))};
    }
  } else {
    version =
        versions_
            .emplace(next_version_++,
                     Version{.model = name.model, .name = name.version, .shards = name.shards})
            .first;
  }
  const CopyId id = next_copy_++;
  version->second.copies.emplace(id, Copy{.shard = name.shard, .device = device, .writer = writer});
  return id;
}

Result<std::vector<CopyId>> ModelBook::commit(ClientNumber writer, CopyId copy) {
  const auto version = version_of(copy);
  if (version == versions_.end() || version->second.copies.at(copy).writer != writer) {
    return Error{Code::not_found, concat("commit: the caller publishes no copy ", copy)};
  }
  if (version->second.retired) {
    return Error{Code::failed_precondition,
                 concat("commit: ", version->second.model, " ", version->second.name,
                        " was superseded while it was published")};
  }
  version->second.copies.at(copy).writer.reset();
  supersede_older(version->second.model);
  return sweep();
}

Result<void> ModelBook::drop(ClientNumber writer, CopyId copy) {
  const auto version = version_of(copy);
  if (version == versions_.end() || version->second.copies.at(copy).writer != writer) {
    return Error{Code::not_found, concat("drop: the caller publishes no copy ", copy)};
  }
  version->second.copies.erase(copy);
  if (version->second.copies.empty()) versions_.erase(version);
  return {};
}

// Also those that lack shards: they would show too late. From the newest to the oldest, with the
// devices of those that show so far.
void ModelBook::supersede_older(const std::string& model) {
  std::set<DeviceUuid> covered;
  for (auto it = versions_.rbegin(); it != versions_.rend(); ++it) {
    Version& version = it->second;
    if (version.model != model || version.retired) continue;
    const bool shows = version.shows();
    version.retired =
        std::all_of(version.copies.begin(), version.copies.end(),
                    [&](const auto& entry) { return covered.contains(entry.second.device); });
    for (const auto& [id, copy] : version.copies) {
      if (shows) covered.insert(copy.device);
    }
  }
}

Result<ModelBook::Attached> ModelBook::attach(ClientNumber reader, const ShardName& name,
                                              const DeviceUuid& device) {
  const auto found =
      name.version.empty() ? newest_shown(name, device) : find(name.model, name.version);
  if (found == versions_.end() || !found->second.shows()) {
    const bool known = std::any_of(versions_.begin(), versions_.end(), [&](const auto& entry) {
      const Version& version = entry.second;
      return version.model == name.model && !version.retired &&
             (name.version.empty() || version.name == name.version);
    });
    return Error{Code::not_found,
                 concat("attach: ", name.model, name.version.empty() ? "" : " ", name.version,
                        " is not there", known ? " with all of its shards yet" : "")};
  }
  Version& version = found->second;
  if (version.shards != name.shards) return other_shards("attach", name, version.shards);
  std::string where;
  int named = 0;
  for (auto& [id, copy] : version.copies) {
    if (copy.shard != name.shard || copy.writer) continue;
    if (copy.device == device) {
      copy.readers.insert(reader);
      return Attached{id, version.name};
    }
    if (++named <= kMostNamed) where += concat(" ", to_string(copy.device));
  }
  return Error{Code::failed_precondition,
               concat("attach: ", name.model, " ", version.name, " shard ", name.shard,
                      " is not on ", to_string(device), ", but on", where)};
}

bool ModelBook::may_come(const ShardName& name, const DeviceUuid& device) const {
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& entry) {
    const Version& version = entry.second;
    if (version.model != name.model || version.shards != name.shards || version.retired) {
      return false;
    }
    return (name.version.empty() || version.name == name.version) &&
           std::any_of(version.copies.begin(), version.copies.end(), [&](const auto& copy) {
             return copy.second.shard == name.shard && copy.second.device == device;
           });
  });
}

Result<std::vector<CopyId>> ModelBook::detach(ClientNumber reader, CopyId copy) {
  const auto version = version_of(copy);
  if (version == versions_.end() || version->second.copies.at(copy).readers.erase(reader) == 0) {
    return Error{Code::not_found, concat("detach: the caller does not read copy ", copy)};
  }
  return sweep();
}

std::vector<CopyId> ModelBook::gone(ClientNumber client) {
  std::vector<CopyId> forgotten;
  for (auto& [number, version] : versions_) {
    for (auto it = version.copies.begin(); it != version.copies.end();) {
      it->second.readers.erase(client);
      if (it->second.writer == client) {
        forgotten.push_back(it->first);
        it = version.copies.erase(it);
      } else {
        ++it;
      }
    }
  }
  const std::vector<CopyId> swept = sweep();
  forgotten.insert(forgotten.end(), swept.begin(), swept.end());
  return forgotten;
}

Result<std::vector<CopyId>> ModelBook::retire(const std::string& model,
                                              const std::string& version) {
  const auto found = find(model, version);
  if (found == versions_.end()) {
    return Error{Code::not_found, concat("retire: ", model, " ", version, " is not there")};
  }
  found->second.retired = true;
  return sweep();
}

std::vector<CopyId> ModelBook::sweep() {
  std::vector<CopyId> forgotten;
  for (auto it = versions_.begin(); it != versions_.end();) {
    Version& version = it->second;
    if (version.retired && version.unread()) {
      // What is still being filled is forgotten when its writer goes.
      std::erase_if(version.copies, [&](const auto& entry) {
        if (entry.second.writer) return false;
        forgotten.push_back(entry.first);
        return true;
      });
    }
    it = version.copies.empty() ? versions_.erase(it) : std::next(it);
  }
  return forgotten;
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
                               .readers = copy.readers.size()});
    }
    all.push_back(std::move(status));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.model < b.model; });
  return all;
}

}  // namespace aqua::sharing
