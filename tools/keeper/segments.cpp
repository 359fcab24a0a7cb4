// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/segments.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/memory/memfd.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {
namespace {

// Nobody resizes it, nor seals it against its writer.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Its pages are taken when they are first written.
Result<UniqueFd> make_memory(std::uint64_t bytes) {
  UniqueFd fd = create_memfd("aqua-segment");
  if (!fd.valid() || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return errno_error(concat("keeper: a segment of ", bytes, " bytes"));
  }
  return fd;
}

// A number that no other keeper here has, and that is above those of the keepers before, if the
// clock was not put back: milliseconds since 2020, since the next keeper may be started within the
// same second. A packet has room for such numbers until 2050.
std::uint64_t draw_later_than_before() {
  constexpr unsigned kRandomBits = 10;
  constexpr std::chrono::sys_days kSince{std::chrono::year{2020} / 1 / 1};
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now() - kSince);
  const std::uint64_t random = std::random_device{}() & ((1U << kRandomBits) - 1);
  return (static_cast<std::uint64_t>(time.count()) << kRandomBits) | random;
}

// No later process has the same, although a pid is given again.
std::uint64_t process_number(const PeerProcess& process) {
  return (process.start_time() << 22) ^ static_cast<std::uint64_t>(process.pid());
}

}  // namespace

Segments::Segments(SlabRoom& room, const SegmentQuota& quota, std::size_t most_members,
                   CheckGives check_gives, SegmentNumber last)
    : room_(room),
      most_members_(most_members),
      check_gives_(std::move(check_gives)),
      most_bytes_(quota.bytes),
      which_(draw_later_than_before()),
      book_(quota, last) {}

void Segments::use(std::unique_ptr<DiskTier> disk) {
  disk_ = std::move(disk);
  disk_->offer_all([this](const LoggedSegment& segment, const DiskTier::Fill& fill) {
    return restore(segment, fill);
  });
  disk_->start();
}

void Segments::use_none(const std::string& directory, const Error& why) {
  no_disk_.directory = directory;
  no_disk_.error = why.message;
}

Result<DiskTier::Memory> Segments::restore(const LoggedSegment& segment,
                                           const DiskTier::Fill& fill) {
  const SegmentName& name = segment.name;
  const std::uint64_t bytes = std::max<std::uint64_t>(1, (name.bytes + kUnit - 1) / kUnit) * kUnit;
  AQUA_TRY(book_.restore(name, bytes, ::geteuid(), segment.copy_of));
  auto made = [&]() -> Result<DiskTier::Memory> {
    AQUA_TRY(room_.take(1));
    auto fd = make_memory(bytes);
    if (auto filled = fd.ok() ? fill(fd->get()) : Result<void>(fd.error()); !filled.ok()) {
      room_.give(1);
      return std::move(filled).error();
    }
    return keep(std::move(fd).value(), bytes);
  }();
  if (made.ok()) {
    memory_[name.number] = *made;
  } else {
    (void)book_.drop(name.number, name.generation);
  }
  return made;
}

Result<Segments::Served> Segments::serve(const PacketPeer& from,
                                         const segment_wire::Request& request,
                                         const std::vector<UniqueFd>& in) {
  if (!in.empty()) {
    return Error{Code::invalid_argument,
                 concat("keeper: ", in.size(), " descriptors with a request that takes none")};
  }
  return std::visit([&](const auto& asked) { return answer(from, asked); }, request);
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Join& /*asked*/) {
  if (members_.contains(from.number)) {
    return Error{Code::already_exists, "keeper: the caller has joined"};
  }
  AQUA_TRY(check_room(members_, most_members_, from.pid, "that have segments"));
  AQUA_ASSIGN(PeerProcess process, PeerProcess::of_socket(from.fd));
  AQUA_ASSIGN(UniqueFd event, make_wake_event());
  AQUA_TRY(book_.join(from.number, {.user = from.uid, .process = process_number(process)}));
  Served served{.reply = {.name = {.number = which_}}, .fds = {event.get()}};
  members_.emplace(from.number, Member{std::move(process), std::move(event)});
  return served;
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Watch& /*asked*/) {
  const auto member = members_.find(from.number);
  if (member == members_.end()) {
    return Error{Code::not_found, "keeper: the caller has not joined"};
  }
  member->second.watches = true;
  signal_event(member->second.wake.get());
  return Served{};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Reserve& asked) {
  auto reserved = reserve(from.number, (asked.bytes + kUnit - 1) / kUnit * kUnit);
  if (const auto member = members_.find(from.number); member != members_.end()) {
    member->second.hungry = !reserved.ok() && reserved.error().code == Code::resource_exhausted;
  }
  return reserved;
}

Result<Segments::Served> Segments::reserve(std::uint64_t member, std::uint64_t bytes) {
  AQUA_ASSIGN(const SegmentNumber number, book_.reserve(member, bytes));
  auto made = [&]() -> Result<UniqueFd> {
    AQUA_TRY(check_freed(bytes));
    AQUA_TRY(room_.take(1));
    auto fd = make_memory(bytes);
    if (!fd.ok()) room_.give(1);
    return fd;
  }();
  if (!made.ok()) {
    (void)book_.give_up(member, number);
    return std::move(made).error();
  }
  const auto memory = keep(std::move(made).value(), bytes);
  memory_[number] = memory;
  return Served{{.name = {.number = number}, .capacity = bytes}, {memory->fd.get()}};
}

DiskTier::Memory Segments::keep(UniqueFd fd, std::uint64_t bytes) {
  *bytes_ += bytes;
  return room_.share({std::move(fd), bytes}, [all = bytes_, bytes] { *all -= bytes; });
}

Result<void> Segments::check_freed(std::uint64_t bytes) const {
  const std::uint64_t taken = *bytes_;
  if (taken <= most_bytes_ && most_bytes_ - taken >= bytes) return {};
  return Error{Code::resource_exhausted,
               concat("keeper: a segment of ", bytes, " bytes: ", taken, " of ", most_bytes_,
                      " are taken, with what has ended and is being freed")};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Commit& asked) {
  if (asked.parcel != 0) {
    if (!knows(from.number)) return Error{Code::not_found, "keeper: the caller has not joined"};
    AQUA_TRY(check_gives_(members_.at(from.number).process, asked.parcel));
    if (const SegmentName other = book_.of_parcel(asked.parcel); other.number != 0) {
      return Error{Code::failed_precondition,
                   concat("keeper: parcel ", asked.parcel, " has segment ", other.number)};
    }
  }
  AQUA_ASSIGN(const std::uint64_t generation,
              book_.commit(from.number, asked.number, asked.parcel, asked.bytes, asked.digest,
                           asked.copy_of));
  const SegmentName name{asked.number, generation, asked.bytes, asked.digest};
  // What goes with a parcel goes with the keeper: parcels do.
  const bool lasts = asked.parcel == 0;
  if (disk_ != nullptr && lasts) {
    disk_->committed(name, memory_.at(asked.number), asked.copy_of);
  }
  if (lasts && !asked.copy_of) tell_watchers();
  return Served{{.name = name}};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from, const segment_wire::Open& asked) {
  AQUA_ASSIGN(const auto opened, book_.open(from.number, asked.number, asked.generation));
  return Served{{.name = opened.name, .capacity = opened.bytes},
                {memory_.at(asked.number)->fd.get()}};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Close& asked) {
  AQUA_ASSIGN(const auto ended, book_.close(from.number, asked.number, asked.adopt));
  settle(ended);
  return Served{};
}

Result<Segments::Served> Segments::answer(const PacketPeer& /*from*/,
                                          const segment_wire::Drop& asked) {
  auto ended = asked.as_copy ? book_.drop_copy(asked.number, asked.generation)
                             : book_.drop(asked.number, asked.generation);
  const bool dropped = ended.ok() || ended.error().code == Code::not_found;
  // Before its writer can have it back. What is on the disk alone is known there alone.
  const bool erased = disk_ != nullptr && dropped && disk_->dropped(asked.number, asked.generation);
  if (!ended.ok()) return erased ? Served{} : Result<Served>(std::move(ended).error());
  settle(*ended);
  tell_watchers();
  return Served{};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::GiveUp& asked) {
  AQUA_ASSIGN(const auto ended, book_.give_up(from.number, asked.number));
  settle(ended);
  return Served{};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Returned& /*asked*/) {
  AQUA_ASSIGN(auto numbers, book_.take_returned(from.number, segment_wire::kMostNumbers));
  return Served{{.numbers = std::move(numbers)}};
}

Result<Segments::Served> Segments::answer(const PacketPeer& from,
                                          const segment_wire::Leave& /*asked*/) {
  if (!knows(from.number)) return Error{Code::not_found, "keeper: the caller has not joined"};
  ended(from.number);
  return Served{};
}

Result<Segments::Served> Segments::answer(const PacketPeer& /*from*/,
                                          const segment_wire::List& asked) {
  Served served{{.rows = book_.kept(asked.first, segment_wire::kMostRows)}};
  auto& rows = served.reply.rows;
  for (SegmentStatus& row : rows) {
    row.on_disk = disk_ != nullptr && disk_->durable(row.name.number, row.name.generation);
  }
  served.reply.more = !rows.empty() && !book_.kept(rows.back().name.number + 1, 1).empty();
  return served;
}

Result<Segments::Served> Segments::answer(const PacketPeer& /*from*/,
                                          const segment_wire::Disk& /*asked*/) {
  return Served{{.disk = disk_ == nullptr ? no_disk_ : disk_->status()}};
}

void Segments::end_parcels(const std::vector<std::uint64_t>& parcels) {
  for (const std::uint64_t parcel : parcels) settle(book_.end_parcel(parcel));
}

void Segments::tell_watchers() {
  for (auto& [number, member] : members_) {
    if (member.watches) signal_event(member.wake.get());
  }
}

void Segments::settle(const SegmentNumbers& ended) {
  for (const SegmentNumber number : ended) memory_.erase(number);
  for (const std::uint64_t member : book_.returned_to()) {
    signal_event(members_.at(member).wake.get());
  }
  if (!ended.empty()) freed();
}

void Segments::freed() {
  for (auto& [number, member] : members_) {
    if (std::exchange(member.hungry, false)) signal_event(member.wake.get());
  }
}

void Segments::closed(std::uint64_t number) {
  const auto member = members_.find(number);
  if (member == members_.end()) return;
  if (!book_.reads(number) || member->second.process.proven_dead()) {
    ended(number);
  } else {
    settle(book_.gone(number));
  }
}

void Segments::ended(std::uint64_t number) {
  if (members_.erase(number) != 0) settle(book_.end(number));
}

}  // namespace aqua::keeper
