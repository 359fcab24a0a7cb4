// SPDX-License-Identifier: Apache-2.0
// Exporter lends slabs of one device to other processes, and is the authority on who holds
// each: no memory ever has two tenants, since a mapping cannot be revoked. A slab changes hands
// when its holder has confirmed the unmapping or is proven dead, never because time has passed.
// It works with or without a coordinator.
//
// What a holder has returned is scrubbed and lent again. The memory of a holder that died is not:
// work that it had queued may still write there, as a GPU's does for as long as a forked child
// keeps the driver's files open. It is let go, and the slab gets other memory of the same size;
// the device gives the old memory to nobody while a mapping of it lives.
//
// Threads: every method may be called concurrently, and blocks at most for a scrub. The
//          callback runs on the exporter's scrubber thread, with no lock held.
// Owns:    the slabs put up, until they are taken back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "device/device.hpp"
#include "lending/exchange_server.hpp"
#include "lending/scrubber.hpp"
#include "lending/slab_arena.hpp"
#include "lending/slab_book.hpp"

namespace aqua::lending {

struct ExporterOptions {
  std::string socket_path;  // where consumers fetch; created with mode 0600
  std::size_t arena_bytes = std::size_t{1}
                            << 38;  // addresses reserved for scrubbing: the most that can be lent
  // Told what an operator should know, on the scrubber's thread or the caller's. No lock is held.
  std::function<void(const std::string& text)> warn = [](const std::string&) {};
};

class Exporter final : private ExchangeHandler {
 public:
  // A slab is free again: scrubbed, with its next generation and secret.
  using Freed = std::function<void(const SlabStatus& slab)>;

  // `device` must outlive the exporter.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> open(device::Device& device,
                                                              const ExporterOptions& options,
                                                              Freed freed);
  // Stops lending. Slabs still held stay alive in their holders' mappings.
  ~Exporter() override;

  // Scrubs slabs of this device and makes them fetchable by whoever shows their secret.
  // All or nothing: `slabs` is emptied on success and unchanged on failure.
  [[nodiscard]] Result<std::vector<SlabStatus>> put_up(
      std::vector<std::unique_ptr<device::Slab>>& slabs);
  // Slabs that nobody holds, unmapped, the caller's again. All or nothing;
  // failed_precondition names the first one held or being scrubbed.
  [[nodiscard]] Result<std::vector<std::unique_ptr<device::Slab>>> take_back(
      std::span<const std::uint32_t> indexes);

  // The coordinator tells that a grant has ended: the holder confirmed its return, or was
  // proven dead. Leads to a scrub and `freed`, unless that has happened already; to other memory
  // as well where it does not say which.
  void grant_ended(std::uint32_t index, std::uint64_t generation, GrantEnd how);

  // Before declaring everything to a coordinator that knows nothing: see SlabBook.
  void renew_free();

  // In the order of their indexes.
  [[nodiscard]] std::vector<SlabStatus> status() const;
  [[nodiscard]] bool knows(std::uint32_t index) const;  // put up and not taken back
  [[nodiscard]] const std::string& socket_path() const noexcept { return options_.socket_path; }

 private:
  struct Lent {
    std::unique_ptr<device::Slab> slab;  // null while its memory is being remade
    std::size_t arena_offset = 0;
    bool told = false;  // that there is no memory to remake it
  };

  Exporter(device::Device& device, const ExporterOptions& options, Freed freed);
  [[nodiscard]] Result<std::vector<Lent>> map_and_scrub(
      std::vector<std::unique_ptr<device::Slab>>& slabs);
  [[nodiscard]] Result<void> zero(std::span<const Lent> lent);
  void submit_scrub(std::uint32_t index) AQUA_REQUIRES(mu_);
  void submit_remake(std::uint32_t index) AQUA_REQUIRES(mu_);  // and to scrub then
  // On the scrubber's thread, of a slab in `scrubbing`. Where there is no memory to be had the slab
  // stays without any.
  [[nodiscard]] Result<std::byte*> remake(const Scrubber::Job& job);
  [[nodiscard]] Error without_memory(const Scrubber::Job& job, Error error);  // warns once
  void on_scrubbed(const Scrubber::Job& job, const Result<void>& zeroed);

  std::vector<ReplyEntry> on_fetch(const ClientId& client, std::span<const FetchEntry> entries,
                                   std::vector<UniqueFd>& fds) override;
  std::vector<ReplyEntry> on_give_back(const ClientId& client,
                                       std::span<const GiveBackEntry> entries) override;
  void on_dead(const ClientId& client) override;

  device::Device& device_;
  const ExporterOptions options_;
  const Freed freed_;
  std::unique_ptr<SlabArena> arena_;  // fixed after open
  mutable Mutex mu_;
  SlabBook book_ AQUA_GUARDED_BY(mu_);
  std::map<std::uint32_t, Lent> lent_ AQUA_GUARDED_BY(mu_);
  std::unique_ptr<Scrubber> scrubber_;      // stops after the server
  std::unique_ptr<ExchangeServer> server_;  // stops first
};

}  // namespace aqua::lending
