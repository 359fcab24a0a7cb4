// SPDX-License-Identifier: Apache-2.0
// What Keeper answers to who publishes and reads models.
#include <algorithm>
#include <iterator>
#include <vector>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua::keeper {
namespace {

namespace wire = sharing::wire;

// As many as go into one answer. `more`: whether that is not all.
template <typename Row>
std::vector<Row> rows_from(std::size_t first, std::vector<Row>& all, bool& more) {
  const std::size_t begin = std::min(first, all.size());
  const std::size_t end = std::min(begin + wire::kMaxRows, all.size());
  more = end < all.size();
  return {std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(begin)),
          std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(end))};
}

}  // namespace

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Publish& asked) {
  AQUA_ASSIGN(const sharing::CopyId copy, book_.open(from, asked.shard, asked.device,
                                                     {.spare = asked.spare,
                                                      .restored = from == kNobody,
                                                      .order = from == kNobody ? asked.order : 0}));
  if (auto begun = copies_.begin(copy); !begun.ok()) {
    (void)book_.drop(from, copy);
    return std::move(begun).error();
  }
  copies_.at(copy).number = store_.next_number();
  return Served{{.copy = copy}};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Add& asked, Fds in) {
  if (!book_.fills(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller publishes no copy ", asked.copy)};
  }
  AQUA_TRY(copies_.add(asked.copy, asked.bytes, std::move(in)));
  return Served{{.copy = asked.copy}};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Commit& asked, Fds in) {
  if (!book_.fills(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller publishes no copy ", asked.copy)};
  }
  AQUA_TRY(copies_.set_manifest(asked.copy, std::move(in)));
  // Before it shows: a keeper that dies in between leaves it to the next one.
  KeptCopy& kept = copies_.at(asked.copy);
  const auto opened = book_.opened_as(asked.copy);
  store_.keep(kept, {.shard = opened.shard,
                     .device = opened.device,
                     .spare = opened.as.spare,
                     .order = opened.as.order});
  step("commit");
  auto forgotten = book_.commit(from, asked.copy);
  if (!forgotten.ok()) {
    store_.forget(kept);
    return std::move(forgotten).error();
  }
  forget(*forgotten);
  // What is superseded stays for its readers, and is nothing for the next keeper.
  for (const sharing::VersionStatus& version : book_.status()) {
    if (!version.superseded) continue;
    for (const sharing::CopyStatus& copy : version.copies) store_.forget(copies_.at(copy.id));
  }
  waiters_.wake_all();
  return Served{{.copy = asked.copy}};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Attach& asked) {
  const auto attached = book_.attach(from, asked.shard, asked.device);
  if (!attached.ok() && asked.wait && book_.may_come(asked.shard, asked.device)) {
    AQUA_ASSIGN(const int event, waiters_.add(from));
    return Served{{.later = true}, {event}};
  }
  waiters_.forget(from);
  if (!attached.ok()) return attached.error();
  const KeptCopy& copy = copies_.at(attached->copy);
  return Served{{.copy = attached->copy,
                 .version = attached->version,
                 .slabs = static_cast<std::uint32_t>(copy.slabs.size()),
                 .enforced = copy.enforced},
                {copy.manifest.get()}};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Fetch& asked) {
  if (!book_.reads(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller does not read copy ", asked.copy)};
  }
  const auto& slabs = copies_.at(asked.copy).slabs;
  Served served{{.copy = asked.copy}};
  const std::size_t end = std::min(slabs.size(), asked.first + wire::kMaxDescriptors);
  for (std::size_t i = asked.first; i < end; ++i) {
    served.fds.push_back(slabs[i].fd.get());
    served.reply.bytes.push_back(slabs[i].bytes);
  }
  return served;
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Detach& asked) {
  AQUA_ASSIGN(const auto forgotten, book_.detach(from, asked.copy));
  forget(forgotten);
  return Served{{.copy = asked.copy}};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t /*from*/, const wire::ListModels& asked) {
  std::vector<sharing::ModelStatus> models;
  for (const sharing::VersionStatus& version : book_.status()) {
    sharing::ModelStatus row{.model = version.model,
                             .version = version.version,
                             .shards = version.shards,
                             .copies = static_cast<std::uint32_t>(version.copies.size()),
                             .shows = version.shows,
                             .superseded = version.superseded};
    for (const sharing::CopyStatus& copy : version.copies) {
      row.filling += copy.filling ? 1 : 0;
      row.readers += static_cast<std::uint32_t>(copy.readers);
      row.bytes += copies_.at(copy.id).bytes();
    }
    models.push_back(std::move(row));
  }
  Served served;
  served.reply.models = rows_from(asked.first, models, served.reply.more);
  return served;
}

Result<Keeper::Served> Keeper::serve(std::uint64_t /*from*/, const wire::ListCopies& asked) {
  std::vector<sharing::ModelCopy> copies;
  for (const sharing::VersionStatus& version : book_.status()) {
    for (const sharing::CopyStatus& copy : version.copies) {
      copies.push_back({.model = version.model,
                        .version = version.version,
                        .shard = copy.shard,
                        .shards = version.shards,
                        .device = to_string(copy.device),
                        .bytes = copies_.at(copy.id).bytes(),
                        .readers = static_cast<std::uint32_t>(copy.readers),
                        .filling = copy.filling,
                        .spare = copy.spare,
                        .superseded = version.superseded,
                        .readers_unknown = copy.readers_unknown,
                        .last_used = copy.last_used});
    }
  }
  Served served;
  served.reply.copies = rows_from(asked.first, copies, served.reply.more);
  return served;
}

Result<Keeper::Served> Keeper::serve(std::uint64_t /*from*/, const wire::Retire& asked) {
  AQUA_ASSIGN(const auto forgotten, book_.retire(asked.model, asked.version));
  forget(forgotten);
  waiters_.wake_all();
  // What is still read goes with its readers, and not on to the next keeper.
  for (const sharing::CopyId id : book_.copies_of(asked.model, asked.version)) {
    store_.forget(copies_.at(id));
  }
  return Served{};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t /*from*/, const wire::Drop& asked) {
  AQUA_ASSIGN(const auto forgotten, book_.drop_unread(asked.model, asked.version, asked.device));
  forget(forgotten);
  waiters_.wake_all();
  return Served{};
}

Result<Keeper::Served> Keeper::serve(std::uint64_t from, const wire::Freeing& asked) {
  // What is closed after this look is told on this thread, and so after this answer.
  const std::uint64_t bytes = room_.bytes_being_freed();
  waiters_.forget(from);
  if (bytes == 0 || !asked.wait) return Served{{.freeing = bytes}};
  AQUA_ASSIGN(const int event, waiters_.add(from));
  return Served{{.later = true, .freeing = bytes}, {event}};
}

}  // namespace aqua::keeper
