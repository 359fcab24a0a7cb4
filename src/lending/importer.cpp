// SPDX-License-Identifier: Apache-2.0
#include "lending/importer.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua::lending {

Result<std::unique_ptr<Importer>> Importer::open(device::Device& device, ClientId self,
                                                 std::size_t arena_bytes) {
  std::unique_ptr<Importer> importer(new Importer(device, self));
  AQUA_ASSIGN(importer->arena_, SlabArena::reserve(device, arena_bytes));
  return importer;
}

std::shared_ptr<ExchangeClient> Importer::client_of(const std::string& exchange) {
  const MutexLock lock(mu_);
  auto& client = clients_[exchange];
  if (client == nullptr) client = std::make_shared<ExchangeClient>(exchange, self_);
  return client;
}

// Holds the turn across the socket, but not mu_, so that a slab can be given back meanwhile.
Result<std::vector<ImportedSlab>> Importer::import(std::span<const LeasedSlab> slabs) {
  const MutexLock turn(importing_);
  std::vector<LeasedSlab> missing;
  {
    const MutexLock lock(mu_);
    for (const LeasedSlab& lease : slabs) {
      if (leaving_.contains(lease.key)) {
        return Error{Code::aborted,
                     concat("import: slab ", lease.key.index, " is being given back")};
      }
      const auto same = [&](const LeasedSlab& other) { return other.key == lease.key; };
      if (mapped_.contains(lease.key) || std::any_of(missing.begin(), missing.end(), same))
        continue;
      missing.push_back(lease);
    }
  }
  if (!missing.empty()) AQUA_TRY(fetch_and_map(missing));
  std::vector<ImportedSlab> imported;
  for (const LeasedSlab& lease : slabs) {
    const auto known = find(lease.key);
    if (!known)
      return Error{Code::aborted,
                   concat("import: slab ", lease.key.index, " was given back meanwhile")};
    imported.push_back(*known);
  }
  return imported;
}

Result<void> Importer::fetch_and_map(std::span<const LeasedSlab> slabs) {
  std::vector<FetchEntry> entries;
  for (const LeasedSlab& lease : slabs)
    entries.push_back({lease.key.index, lease.key.generation, lease.secret});
  const auto client = client_of(slabs.front().exchange);
  AQUA_ASSIGN(auto fetched, client->fetch(entries));
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    auto mapped = map_one(slabs[i], std::move(fetched[i]));
    if (mapped.ok()) continue;
    for (std::size_t j = 0; j < i; ++j) (void)give_back(slabs[j].key);  // also tells the exporter
    std::vector<GiveBackEntry> unmapped;
    for (const LeasedSlab& lease : slabs.subspan(i))
      unmapped.push_back({lease.key.index, lease.key.generation});
    (void)client->give_back(unmapped);  // an exporter that is gone needs no telling
    return mapped;
  }
  return {};
}

Result<void> Importer::map_one(const LeasedSlab& lease, ExchangeClient::Fetched fetched) {
  step("import");
  if (fetched.bytes != lease.bytes) {
    return Error{Code::invalid_argument,
                 concat("import: slab ", lease.key.index, " has ", fetched.bytes,
                        " bytes, the lease says ", lease.bytes)};
  }
  const auto file = file_of(fetched.fd.get());
  if (const MutexLock lock(mu_); file && files_.contains(*file)) {
    return Error{Code::invalid_argument, concat("import: slab ", lease.key.index,
                                                " is the memory of another slab of ours")};
  }
  AQUA_ASSIGN(const auto slab, device_.import_slab(std::move(fetched.fd), lease.bytes));
  AQUA_ASSIGN(const std::size_t offset, arena_->map(*slab));
  const MutexLock lock(mu_);
  mapped_.emplace(lease.key, Mapped{{lease.key, lease.bytes, offset}, lease.exchange, file});
  if (file) files_.insert(*file);
  return {};  // the handle goes, and its descriptor; the mapping stays
}

std::optional<Importer::File> Importer::file_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return File(info.st_dev, info.st_ino);
}

// Unmaps before telling: once the exporter knows, the memory may have another tenant. While that
// goes on the key is in leaving_, so that no import maps the slab a second time.
Result<void> Importer::give_back(const SlabKey& key) {
  Mapped mapped;
  {
    const MutexLock lock(mu_);
    const auto found = mapped_.find(key);
    if (found == mapped_.end()) {
      return Error{Code::not_found, concat("give_back: slab ", key.index, " generation ",
                                           key.generation, " is not mapped here")};
    }
    mapped = std::move(found->second);
    mapped_.erase(found);
    if (mapped.file) files_.erase(*mapped.file);
    leaving_.insert(key);
  }
  auto unmapped = arena_->unmap(mapped.slab.offset);
  Result<void> told;
  if (unmapped.ok()) {
    step("return");
    const GiveBackEntry entry{key.index, key.generation};
    told = client_of(mapped.exchange)->give_back({&entry, 1});
  }
  const MutexLock lock(mu_);
  leaving_.erase(key);
  if (unmapped.ok()) return told;
  // Mapped still, hence held still: the exporter has not been told.
  if (mapped.file) files_.insert(*mapped.file);
  mapped_.emplace(key, std::move(mapped));
  return unmapped;
}

std::optional<ImportedSlab> Importer::find(const SlabKey& key) const {
  const MutexLock lock(mu_);
  const auto found = mapped_.find(key);
  if (found == mapped_.end()) return std::nullopt;
  return found->second.slab;
}

bool Importer::holds(const SlabKey& key) const {
  const MutexLock lock(mu_);
  return mapped_.contains(key) || leaving_.contains(key);
}

std::vector<ImportedSlab> Importer::all() const {
  const MutexLock lock(mu_);
  std::vector<ImportedSlab> list;
  for (const auto& [key, mapped] : mapped_) list.push_back(mapped.slab);
  return list;
}

std::set<std::string> Importer::forget_ended() {
  std::map<std::string, std::shared_ptr<ExchangeClient>> known;
  {
    const MutexLock lock(mu_);
    known = clients_;
  }
  std::set<std::string> connected;
  for (const auto& [exchange, client] : known) {
    if (!client->disconnected()) {
      connected.insert(exchange);
      continue;
    }
    const MutexLock lock(mu_);
    clients_.erase(exchange);  // whoever has it in hand still may go on with it
  }
  return connected;
}

}  // namespace aqua::lending
