// SPDX-License-Identifier: Apache-2.0
// Importer fetches slabs that others have lent to this process and maps them into its
// device's addresses, and gives them back.
//
// Threads: every method may be called concurrently, from control threads: they block on
//          the exporter's socket.
// Cache:   a mapping is named by (producer, index, generation). A slab that changed hands
//          is another slab: stale bytes are never served. No slab is ever mapped twice.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "lending/exchange_client.hpp"
#include "lending/slab_arena.hpp"

namespace aqua::lending {

struct SlabKey {
  ClientId producer;
  std::uint32_t index = 0;
  std::uint64_t generation = 0;
  friend auto operator<=>(const SlabKey&, const SlabKey&) = default;
};

struct LeasedSlab {
  SlabKey key;
  std::size_t bytes = 0;
  LeaseSecret secret;
  std::string exchange;  // the exporter's socket
};

struct ImportedSlab {
  SlabKey key;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // in arena()
};

class Importer {
 public:
  // `device` must outlive the importer; `arena_bytes` of its addresses are reserved.
  [[nodiscard]] static Result<std::unique_ptr<Importer>> open(device::Device& device, ClientId self,
                                                              std::size_t arena_bytes);

  // Fetches and maps slabs of one exporter, at most kMaxExchangeEntries. All or nothing: on
  // failure nothing is mapped and whatever the exporter had granted is given back. A slab
  // mapped already is answered from the cache; aborted for one being given back just now.
  // The answer is in the order of `slabs`.
  [[nodiscard]] Result<std::vector<ImportedSlab>> import(std::span<const LeasedSlab> slabs);

  // Unmaps: the caller has seen all work on the slab complete. Then tells the exporter;
  // unavailable when it is gone (the mapping is gone all the same: tell the coordinator).
  [[nodiscard]] Result<void> give_back(const SlabKey& key);

  // Where a mapped slab is: a tenant's pointer is base() + offset.
  [[nodiscard]] std::byte* base() const noexcept { return arena_->base(); }
  [[nodiscard]] std::size_t arena_bytes() const noexcept { return arena_->bytes(); }
  [[nodiscard]] std::optional<ImportedSlab> find(const SlabKey& key) const;
  // Whether the slab is mapped here, or about to be unmapped: nobody else may have it.
  [[nodiscard]] bool holds(const SlabKey& key) const;
  [[nodiscard]] std::vector<ImportedSlab> all() const;

  // Lets go of the sockets of exporters that have ended; to be called now and then. Answers to
  // which exchanges there is a connection still. May wait for an import in progress.
  std::set<std::string> forget_ended();

 private:
  // The file behind a descriptor, where slabs are files: of memfd. Of others nothing is known.
  using File = std::pair<std::uint64_t, std::uint64_t>;  // its device and inode
  struct Mapped {
    ImportedSlab slab;
    std::string exchange;
    std::optional<File> file;
  };

  Importer(device::Device& device, ClientId self) : device_(device), self_(self) {}
  [[nodiscard]] std::shared_ptr<ExchangeClient> client_of(const std::string& exchange);
  [[nodiscard]] Result<void> fetch_and_map(std::span<const LeasedSlab> slabs)
      AQUA_REQUIRES(importing_);
  [[nodiscard]] Result<void> map_one(const LeasedSlab& lease, ExchangeClient::Fetched fetched);
  [[nodiscard]] static std::optional<File> file_of(int fd);

  device::Device& device_;
  const ClientId self_;
  std::unique_ptr<SlabArena> arena_;  // fixed after open
  Mutex importing_;  // held across the socket: one import at a time, so that none maps what another
                     // does
  mutable Mutex mu_;
  std::map<SlabKey, Mapped> mapped_ AQUA_GUARDED_BY(mu_);
  std::set<File> files_ AQUA_GUARDED_BY(mu_);  // of what is mapped: no two slabs are one memory
  std::set<SlabKey> leaving_
      AQUA_GUARDED_BY(mu_);  // unmapped or about to be, and the exporter not yet told
  std::map<std::string, std::shared_ptr<ExchangeClient>> clients_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::lending
