#include "lending/importer.hpp"

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua::lending {

Result<std::unique_ptr<Importer>> Importer::open(device::Device& device, ClientId self, std::size_t arena_bytes) {
  std::unique_ptr<Importer> importer(new Importer(device, self));
  AQUA_ASSIGN(importer->arena_, SlabArena::reserve(device, arena_bytes));
  return importer;
}

ExchangeClient& Importer::client_of(const std::string& exchange) {
  const MutexLock lock(mu_);
  auto& client = clients_[exchange];
  if (client == nullptr) client = std::make_unique<ExchangeClient>(exchange, self_);
  return *client;
}

Result<std::vector<ImportedSlab>> Importer::import(std::span<const LeasedSlab> slabs) {
  std::vector<ImportedSlab> imported;
  std::vector<LeasedSlab> missing;
  for (const LeasedSlab& lease : slabs) {
    if (auto known = find(lease.key)) {
      imported.push_back(*known);
    } else {
      missing.push_back(lease);
    }
  }
  if (missing.empty()) return imported;

  std::vector<FetchEntry> entries;
  for (const LeasedSlab& lease : missing) entries.push_back({lease.key.index, lease.key.generation, lease.secret});
  ExchangeClient& client = client_of(missing.front().exchange);
  AQUA_ASSIGN(auto fetched, client.fetch(entries));
  for (std::size_t i = 0; i < missing.size(); ++i) {
    auto mapped = map_one(missing[i], std::move(fetched[i]));
    if (mapped.ok()) {
      imported.push_back(*mapped);
      continue;
    }
    for (std::size_t j = 0; j < missing.size(); ++j) {
      if (j < i) {
        (void)give_back(missing[j].key);  // also tells the exporter
      } else {
        const GiveBackEntry entry{missing[j].key.index, missing[j].key.generation};
        (void)client.give_back({&entry, 1});
      }
    }
    return std::move(mapped).error();
  }
  return imported;
}

Result<ImportedSlab> Importer::map_one(const LeasedSlab& lease, ExchangeClient::Fetched fetched) {
  step("import");
  if (fetched.bytes != lease.bytes) {
    return Error{Code::invalid_argument, concat("import: slab ", lease.key.index, " has ", fetched.bytes,
                                                " bytes, the lease says ", lease.bytes)};
  }
  AQUA_ASSIGN(const auto slab, device_.import_slab(std::move(fetched.fd), lease.bytes));
  AQUA_ASSIGN(const std::size_t offset, arena_->map(*slab));
  const ImportedSlab imported{lease.key, lease.bytes, offset};
  const MutexLock lock(mu_);
  mapped_.emplace(lease.key, Mapped{imported, lease.exchange});
  return imported;  // the handle goes, and its descriptor; the mapping stays
}

Result<void> Importer::give_back(const SlabKey& key) {
  Mapped mapped;
  {
    const MutexLock lock(mu_);
    const auto found = mapped_.find(key);
    if (found == mapped_.end()) {
      return Error{Code::not_found, concat("give_back: slab ", key.index, " generation ", key.generation,
                                           " is not mapped here")};
    }
    mapped = found->second;
  }
  AQUA_TRY(arena_->unmap(mapped.slab.offset));
  {
    const MutexLock lock(mu_);
    mapped_.erase(key);
  }
  step("return");
  const GiveBackEntry entry{key.index, key.generation};
  return client_of(mapped.exchange).give_back({&entry, 1});
}

std::optional<ImportedSlab> Importer::find(const SlabKey& key) const {
  const MutexLock lock(mu_);
  const auto found = mapped_.find(key);
  if (found == mapped_.end()) return std::nullopt;
  return found->second.slab;
}

std::vector<ImportedSlab> Importer::all() const {
  const MutexLock lock(mu_);
  std::vector<ImportedSlab> list;
  for (const auto& [key, mapped] : mapped_) list.push_back(mapped.slab);
  return list;
}

}  // namespace aqua::lending
