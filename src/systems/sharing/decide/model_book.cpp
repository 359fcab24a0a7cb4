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

Result<CopyId> ModelBook::open(ClientNumber writer, const ShardName& name, const DeviceUuid& device,
                               const Opening& as) {
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
    const bool is_free = as.order != 0 && !versions_.contains(as.order);
    const std::uint64_t order = is_free ? as.order : next_version_;
    next_version_ = std::max(next_version_, order + 1);
    version =
        versions_
            .emplace(order,
                     Version{.model = name.model, .name = name.version, .shards = name.shards})
            .first;
  }
  const CopyId id = next_copy_++;
  version->second.copies.emplace(id, Copy{.shard = name.shard,
                                          .device = device,
                                          .writer = writer,
                                          .spare = as.spare,
                                          .restored = as.restored});
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
  Copy& filled = version->second.copies.at(copy);
  filled.writer.reset();
  filled.last_used = ++uses_;
  if (filled.spare || filled.restored) return std::vector<CopyId>{};
  supersede_older(version->second.model, Spares::go_with_the_rest);
  return sweep();
}

std::vector<CopyId> ModelBook::all_restored() {
  std::set<std::string> models;
  for (const auto& [number, version] : versions_) models.insert(version.model);
  for (const std::string& model : models) supersede_older(model, Spares::stay_by_themselves);
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

// Whether the copy's device has the same shard of this version, or, where it is divided otherwise,
// any. Not while one is still being filled there, which may fail.
bool ModelBook::replaces(const Version& newer, const Version& older, const Copy& copy) {
  bool there = false;
  for (const auto& [id, each] : newer.copies) {
    if (each.device != copy.device) continue;
    if (newer.shards == older.shards && each.shard != copy.shard) continue;
    if (each.writer) return false;
    there = true;
  }
  return there;
}

// Also those that lack shards: they would show too late. From the newest to the oldest, with those
// that show so far.
void ModelBook::supersede_older(const std::string& model, Spares spares) {
  std::vector<const Version*> newer;
  for (auto it = versions_.rbegin(); it != versions_.rend(); ++it) {
    Version& version = it->second;
    if (version.model != model || version.retired) continue;
    const bool shows = version.shows();
    const bool only_spares = std::all_of(version.copies.begin(), version.copies.end(),
                                         [](const auto& entry) { return entry.second.spare; });
    const bool stays = only_spares && spares == Spares::stay_by_themselves;
    version.retired =
        !stays && std::all_of(version.copies.begin(), version.copies.end(), [&](const auto& entry) {
          const Copy& copy = entry.second;
          if (copy.spare) return !newer.empty();
          return std::any_of(newer.begin(), newer.end(),
                             [&](const Version* each) { return replaces(*each, version, copy); });
        });
    if (shows) newer.push_back(&version);
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
      copy.last_used = ++uses_;
      return Attached{id, version.name};
    }
    if (++named <= kMostNamed) {
      where += concat(" ", copy.spare ? "host memory" : to_string(copy.device));
    }
  }
  return Error{Code::failed_precondition,
               concat("attach: ", name.model, " ", version.name, " shard ", name.shard,
                      " is not on ", to_string(device), ", but on", where)};
}

Result<std::vector<CopyId>> ModelBook::detach(ClientNumber reader, CopyId copy) {
  const auto version = version_of(copy);
  if (version == versions_.end() || version->second.copies.at(copy).readers.erase(reader) == 0) {
    return Error{Code::not_found, concat("detach: the caller does not read copy ", copy)};
  }
  version->second.copies.at(copy).last_used = ++uses_;
  return sweep();
}

std::vector<CopyId> ModelBook::gone(ClientNumber client) {
  std::vector<CopyId> forgotten;
  for (auto& [number, version] : versions_) {
    for (auto it = version.copies.begin(); it != version.copies.end();) {
      if (it->second.readers.erase(client) > 0) it->second.last_used = ++uses_;
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

Result<std::vector<CopyId>> ModelBook::drop_unread(const std::string& model,
                                                   const std::string& version,
                                                   const DeviceUuid& device) {
  const auto found = find(model, version);
  std::vector<CopyId> there;
  std::set<std::uint32_t> shards, elsewhere;
  if (found != versions_.end()) {
    for (const auto& [id, copy] : found->second.copies) {
      if (copy.device != device) {
        if (!copy.writer) elsewhere.insert(copy.shard);
        continue;
      }
      if (copy.writer || !copy.readers.empty()) {
        return Error{
            Code::failed_precondition,
            concat("drop: ", model, " ", version, " shard ", copy.shard,
                   copy.writer ? " is being published" : " is read", " on ", to_string(device))};
      }
      there.push_back(id);
      shards.insert(copy.shard);
    }
  }
  if (there.empty()) {
    return Error{Code::not_found,
                 concat("drop: ", model, " ", version, " is not on ", to_string(device))};
  }
  if (!std::ranges::includes(elsewhere, shards)) {
    return Error{Code::failed_precondition,
                 concat("drop: ", model, " ", version, " would lack shards without that on ",
                        to_string(device), ": copy it elsewhere first, or retire it")};
  }
  for (const CopyId copy : there) found->second.copies.erase(copy);
  return there;
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

}  // namespace aqua::sharing
