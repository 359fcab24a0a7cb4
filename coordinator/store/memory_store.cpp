// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/memory_store.hpp"

#include "base/concat.hpp"

namespace aqua::coordinator {
namespace {

template <typename Map>
auto values(const Map& map) {
  std::vector<typename Map::mapped_type> all;
  all.reserve(map.size());
  for (const auto& [key, value] : map) all.push_back(value);
  return all;
}

}  // namespace

Result<Stored> MemoryStore::load() {
  MutexLock lock(memory_->mu);
  Stored stored;
  if (memory_->host.boot != host_.boot) {
    stored.former_rows = memory_->clients.size() + memory_->slabs.size() +
                         memory_->reclaims.size() + memory_->pairs.size() + memory_->groups.size();
    memory_->clients.clear();
    memory_->slabs.clear();
    memory_->reclaims.clear();
    memory_->pairs.clear();
    memory_->groups.clear();
  } else {
    stored.namespaces = memory_->host.namespaces;
  }
  stored.image = {.clients = values(memory_->clients),
                  .slabs = values(memory_->slabs),
                  .reclaims = values(memory_->reclaims),
                  .pairs = values(memory_->pairs)};
  stored.groups = values(memory_->groups);
  memory_->host = host_;
  last_ = ++memory_->revision;  // whoever loaded before must not write any more
  stored.revision = last_;
  return stored;
}

Result<Revision> MemoryStore::commit(const WriteSet& rows) {
  MutexLock lock(memory_->mu);
  if (memory_->revision != last_) {
    return Error{Code::aborted, concat("store: revision ", memory_->revision, " is not ours, ",
                                       last_, ": another coordinator writes here")};
  }
  for (const auto& row : rows.put.clients) memory_->clients[row.info.id] = row;
  for (const auto& row : rows.put.slabs) memory_->slabs[row.id] = row;
  for (const auto& row : rows.put.reclaims) memory_->reclaims[row.id] = row;
  for (const auto& row : rows.put.pairs) memory_->pairs[row.consumer] = row;
  for (const auto& row : rows.groups) memory_->groups[row.id] = row;
  for (const auto& id : rows.clients_gone) memory_->clients.erase(id);
  for (const auto& id : rows.slabs_gone) memory_->slabs.erase(id);
  for (const auto& id : rows.reclaims_gone) memory_->reclaims.erase(id);
  for (const auto& id : rows.pairs_gone) memory_->pairs.erase(id);
  for (const auto& id : rows.groups_gone) memory_->groups.erase(id);
  return last_ = ++memory_->revision;
}

Result<void> MemoryStore::sync(Revision revision) {
  MutexLock lock(memory_->mu);
  if (revision <= memory_->revision) return {};
  return Error{Code::internal, concat("store: sync of revision ", revision, ", not written yet")};
}

}  // namespace aqua::coordinator
