// SPDX-License-Identifier: Apache-2.0
#include "lending/exporter.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"

namespace aqua::lending {

Result<std::unique_ptr<Exporter>> Exporter::open(device::Device& device,
                                                 const ExporterOptions& options, Freed freed) {
  std::unique_ptr<Exporter> exporter(new Exporter(device, options, std::move(freed)));
  AQUA_ASSIGN(exporter->arena_, SlabArena::reserve(device, options.arena_bytes));
  Exporter& self = *exporter;
  AQUA_ASSIGN(exporter->scrubber_,
              Scrubber::start(
                  device, [&self](const Scrubber::Job& job) { return self.remake(job); },
                  [&self](const Scrubber::Job& job, const Result<void>& zeroed) {
                    self.on_scrubbed(job, zeroed);
                  }));
  AQUA_ASSIGN(exporter->server_, ExchangeServer::open(options.socket_path, self));
  return exporter;
}

Exporter::Exporter(device::Device& device, const ExporterOptions& options, Freed freed)
    : device_(device), options_(options), freed_(std::move(freed)) {}

// The server goes first: it submits scrubs. The scrubber finishes those, and calls freed_.
Exporter::~Exporter() {
  server_.reset();
  scrubber_.reset();
}

// Scrubs before a slab has an index: nobody can fetch the owner's bytes.
Result<std::vector<SlabStatus>> Exporter::put_up(
    std::vector<std::unique_ptr<device::Slab>>& slabs) {
  AQUA_ASSIGN(std::vector<Lent> lent, map_and_scrub(slabs));
  std::vector<SlabStatus> offered;
  const MutexLock lock(mu_);
  for (Lent& one : lent) {
    offered.push_back(book_.add(one.slab->bytes()));
    lent_.emplace(offered.back().index, std::move(one));
  }
  slabs.clear();
  return offered;
}

Result<std::vector<Exporter::Lent>> Exporter::map_and_scrub(
    std::vector<std::unique_ptr<device::Slab>>& slabs) {
  std::vector<Lent> lent;
  Result<void> outcome;
  for (const auto& slab : slabs) {
    auto offset = arena_->map(*slab);
    if (!offset.ok()) {
      outcome = std::move(offset).error();
      break;
    }
    lent.push_back({nullptr, *offset});
  }
  for (std::size_t i = 0; i < lent.size(); ++i) lent[i].slab = std::move(slabs[i]);
  if (outcome.ok()) outcome = zero(lent);
  if (outcome.ok()) return lent;
  for (std::size_t i = 0; i < lent.size(); ++i) {
    (void)arena_->unmap(lent[i].arena_offset);  // mapped just above
    slabs[i] = std::move(lent[i].slab);
  }
  return std::move(outcome).error();
}

// Uses a stream of its own: the default one is the engine's, and so are the failures there.
Result<void> Exporter::zero(std::span<const Lent> lent) {
  AQUA_ASSIGN(const auto event, device_.create_event());
  AQUA_ASSIGN(auto stream, device::OwnStream::create(device_));
  Result<void> posted;
  for (const Lent& one : lent) {
    if (!posted.ok()) break;
    posted = device_.scrub(arena_->base() + one.arena_offset, one.slab->bytes(), *stream);
  }
  if (posted.ok()) posted = device_.record(*event, *stream);
  AQUA_TRY(stream.end());  // waits, also for what a failure has left posted
  AQUA_TRY(posted);
  return device_.synchronize(*event);
}

Result<std::vector<std::unique_ptr<device::Slab>>> Exporter::take_back(
    std::span<const std::uint32_t> indexes) {
  std::vector<std::unique_ptr<device::Slab>> slabs;
  Result<void> unmapped;
  {
    const MutexLock lock(mu_);
    AQUA_TRY(book_.remove(indexes));  // from here on nobody can fetch them
    for (const std::uint32_t index : indexes) {
      const auto found = lent_.find(index);
      if (auto one = arena_->unmap(found->second.arena_offset); !one.ok())
        unmapped = std::move(one);
      slabs.push_back(std::move(found->second.slab));
      lent_.erase(found);
    }
  }
  // What cannot be unmapped is the caller's all the same: only its addresses are lost.
  if (!unmapped.ok()) options_.warn(unmapped.error().message);
  return slabs;
}

void Exporter::grant_ended(std::uint32_t index, std::uint64_t generation, GrantEnd how) {
  const MutexLock lock(mu_);
  const SlabStatus* const slab = book_.find(index);
  const bool fetched = slab != nullptr && slab->custody == Custody::held;
  if (!book_.grant_ended(index, generation, how)) return;
  // A holder that is not known to have returned it may have died. Who never fetched it never
  // mapped it.
  const bool remake = fetched && how == GrantEnd::unknown;
  remake ? submit_remake(index) : submit_scrub(index);
}

void Exporter::renew_free() {
  const MutexLock lock(mu_);
  book_.renew_free();
}

std::vector<SlabStatus> Exporter::status() const {
  const MutexLock lock(mu_);
  return book_.all();
}

bool Exporter::knows(std::uint32_t index) const {
  const MutexLock lock(mu_);
  return book_.find(index) != nullptr;
}

void Exporter::submit_scrub(std::uint32_t index) {
  const Lent& lent = lent_.at(index);
  scrubber_->submit({index, arena_->base() + lent.arena_offset, lent.slab->bytes()});
}

void Exporter::submit_remake(std::uint32_t index) {
  scrubber_->submit({.index = index, .bytes = book_.find(index)->bytes});
}

void Exporter::on_scrubbed(const Scrubber::Job& job, const Result<void>& zeroed) {
  if (!zeroed.ok()) return;  // dead memory stays in `scrubbing` for good: never lent again
  SlabStatus status;
  {
    const MutexLock lock(mu_);
    status = book_.scrubbed(job.index);
  }
  freed_(status);
}

std::vector<ReplyEntry> Exporter::on_fetch(const ClientId& client,
                                           std::span<const FetchEntry> entries,
                                           std::vector<UniqueFd>& fds) {
  step("export");
  const MutexLock lock(mu_);
  // Descriptors first: a slab must not become held by a reply that cannot be sent. Of a slab that
  // is not there, or has no memory now, there is none, and the book refuses it.
  for (const FetchEntry& entry : entries) {
    const auto found = lent_.find(entry.index);
    if (found == lent_.end() || found->second.slab == nullptr) break;
    auto fd = device_.export_slab(*found->second.slab);
    if (!fd.ok()) {
      fds.clear();
      return std::vector<ReplyEntry>(entries.size(), ReplyEntry{to_reply_code(fd.error().code), 0});
    }
    fds.push_back(std::move(fd).value());
  }
  // All or nothing: one refusal refuses the message, and no descriptor leaves.
  auto replies = book_.fetch(client, entries);
  if (replies.front().code != 0) fds.clear();
  return replies;
}

std::vector<ReplyEntry> Exporter::on_give_back(const ClientId& client,
                                               std::span<const GiveBackEntry> entries) {
  std::vector<ReplyEntry> replies;
  const MutexLock lock(mu_);
  for (const GiveBackEntry& entry : entries) {
    const auto outcome = book_.give_back(client, entry.index, entry.generation);
    replies.push_back({outcome.ok() ? 0 : to_reply_code(outcome.error().code), 0});
    if (outcome.ok()) submit_scrub(entry.index);
  }
  return replies;
}

// Proven by the process's pidfd: its slabs may have another tenant, in other memory.
void Exporter::on_dead(const ClientId& client) {
  const MutexLock lock(mu_);
  for (const std::uint32_t index : book_.holder_dead(client)) submit_remake(index);
}

// Lets go of the old memory before it takes other: there may be no room for both. A slab in
// `scrubbing` is nobody else's, so only the map is shared.
Result<std::byte*> Exporter::remake(const Scrubber::Job& job) {
  Lent lent;
  {
    const MutexLock lock(mu_);
    Lent& entry = lent_.at(job.index);
    lent = {std::move(entry.slab), entry.arena_offset};
  }
  if (lent.slab != nullptr) {
    if (auto unmapped = arena_->unmap(lent.arena_offset); !unmapped.ok()) {
      const MutexLock lock(mu_);
      lent_.at(job.index) = std::move(lent);
      return std::move(unmapped).error();
    }
    lent.slab.reset();
  }
  auto fresh = device_.create_slab(job.bytes);
  if (!fresh.ok()) return without_memory(job, std::move(fresh).error());
  auto offset = arena_->map(**fresh);
  if (!offset.ok()) return without_memory(job, std::move(offset).error());
  const MutexLock lock(mu_);
  lent_.at(job.index) = {std::move(*fresh), *offset};
  return arena_->base() + *offset;
}

Error Exporter::without_memory(const Scrubber::Job& job, Error error) {
  {
    const MutexLock lock(mu_);
    if (std::exchange(lent_.at(job.index).told, true)) return error;
  }
  options_.warn(concat("slab ", job.index,
                       " of a borrower that has died has no memory yet: ", error.message));
  return error;
}

}  // namespace aqua::lending
