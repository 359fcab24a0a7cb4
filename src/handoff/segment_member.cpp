// SPDX-License-Identifier: Apache-2.0
// What the engine asks of its segments, and what is done once its streams have got so far.
#include "handoff/segment_member.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "base/xxh3.hpp"

namespace aqua {
namespace {

Error no_segment(const char* call, std::uint64_t number, const char* what) {
  return Error{Code::not_found, concat("segments: ", call, ": segment ", number, what)};
}

Segment as_segment(std::uint64_t number, const HostMemory& memory) {
  return {number, memory.address(), memory.bytes(), memory.locked()};
}

// Waits until no copy reaches the memory, which may be unmapped then, and returns the first answer.
// An error of the question's own says nothing about the copies: it is asked again. A failure of
// theirs is told once.
Result<void> wait_for_copies(HostMemory& memory) {
  auto first = memory.wait();
  for (bool over = first.ok(); !over; over = memory.wait().ok())
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return first;
}

}  // namespace

Result<std::unique_ptr<SegmentMember>> SegmentMember::open(Runtime& runtime,
                                                           const SegmentsOptions& options,
                                                           Listeners listeners) {
  AQUA_ASSIGN(SegmentClient keeper, SegmentClient::connect(options.keeper));
  step("join");
  AQUA_ASSIGN(auto joined, keeper.call(segment_wire::Join{}));
  if (joined.fds.size() != 1) {
    return Error{Code::invalid_argument, "segments: the keeper's answer cannot be"};
  }
  AQUA_ASSIGN(auto link, KeeperLink::make(keeper.descriptor(), std::move(joined.fds[0])));
  std::unique_ptr<SegmentMember> member(new SegmentMember(runtime, std::move(keeper),
                                                          joined.reply.name.number, std::move(link),
                                                          options, std::move(listeners)));
  AQUA_TRY(member->reserve_first());
  member->start_link();
  return member;
}

SegmentMember::SegmentMember(Runtime& runtime, SegmentClient keeper, std::uint64_t number,
                             std::unique_ptr<KeeperLink> link, const SegmentsOptions& options,
                             Listeners listeners)
    : runtime_(runtime),
      keeper_(std::move(keeper)),
      keeper_number_(number),
      link_(std::move(link)),
      options_(options),
      news_(std::move(listeners.news)),
      tell_committed_(std::move(listeners.committed)),
      marked_([this](const Pending& pending, const StreamMark& mark, const Result<void>& outcome) {
        reached(pending, mark, outcome);
      }) {}

Result<void> SegmentMember::check_connected() const {
  if (connected_) return {};
  return Error{Code::unavailable, concat("segments: ", error_.text())};
}

void SegmentMember::post(StreamMark mark, Work work) {
  marked_.post(std::move(mark), {std::move(work), told_.now()});
}

void SegmentMember::post(const segment_wire::Request& request) {
  due_.push_back(request);
  link_->kick();
}

std::deque<std::uint64_t>::iterator SegmentMember::fitting(std::size_t bytes) {
  auto best = ready_.end();
  std::size_t least = 0;  // bytes of the best one
  for (auto it = ready_.begin(); it != ready_.end(); ++it) {
    const std::size_t has = own_.at(*it).memory->bytes();
    if (has < bytes || (best != ready_.end() && has > least)) continue;
    best = it;
    least = has;
  }
  return best;
}

Result<Segment> SegmentMember::take(std::size_t bytes) {
  const MutexLock lock(mu_);
  const auto found = fitting(bytes);
  if (found == ready_.end()) {
    AQUA_TRY(check_connected());
    wanted_ = bytes;
    starved_ = false;
    link_->kick();
    const std::string no_room = error_.of(segment_wire::Request(segment_wire::Reserve{}).index());
    return Error{Code::resource_exhausted,
                 concat("segments: take: none of ", bytes, " bytes is ready",
                        no_room.empty() ? "" : ": ", no_room)};
  }
  wanted_ = 0;
  const std::uint64_t number = *found;
  ready_.erase(found);
  own_.at(number).state = State::taken;
  if (ready_.size() < options_.ready) link_->kick();
  return as_segment(number, *own_.at(number).memory);
}

Result<SegmentMember::Own*> SegmentMember::find_taken(const char* call, std::uint64_t number) {
  const auto own = own_.find(number);
  if (own != own_.end() && own->second.state == State::taken) return &own->second;
  return no_segment(call, number, " was not taken, or is no more");
}

Result<SegmentMember::Memory> SegmentMember::taken(std::uint64_t number) const {
  const MutexLock lock(mu_);
  const auto own = own_.find(number);
  if (own != own_.end() && own->second.state == State::taken) return own->second.memory;
  return no_segment("gather", number, " was not taken, or is no more");
}

Result<void> SegmentMember::release(std::uint64_t number, StreamMark mark) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(Own* const own, find_taken("release", number));
  own->state = State::ending;
  post(std::move(mark), Release{number});
  return {};
}

Result<void> SegmentMember::commit(std::uint64_t number, std::size_t bytes, StreamMark mark,
                                   std::uint64_t parcel, std::vector<Gathered> gathered) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(Own* const own, find_taken("commit", number));
  if (bytes > own->memory->bytes()) {
    return Error{Code::invalid_argument, concat("segments: commit: ", bytes, " bytes of segment ",
                                                number, ", which has ", own->memory->bytes())};
  }
  own->state = State::ending;
  post(std::move(mark), Commit{number, bytes, parcel, std::move(gathered)});
  return {};
}

std::uint64_t SegmentMember::told_now() const {
  const MutexLock lock(mu_);
  return told_.now();
}

std::vector<CommittedSegment> SegmentMember::committed() {
  const MutexLock lock(mu_);
  told_.tell(std::exchange(failures_, {}));
  return std::exchange(committed_, {});
}

std::vector<SegmentName> SegmentMember::well_committed() {
  const MutexLock lock(mu_);
  std::vector<SegmentName> names;
  std::erase_if(committed_, [&](const CommittedSegment& one) {
    if (!one.error) names.push_back(one.name);
    return !one.error;
  });
  return names;
}

Result<void> SegmentMember::read(const SegmentName& name) {
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  if (others_.contains(name.number)) {
    return Error{Code::already_exists,
                 concat("segments: read: segment ", name.number, " is read here")};
  }
  std::map<std::uint64_t, Other> one;  // moved below, which allocates nothing
  one.emplace(name.number, Other{.name = name});
  post(segment_wire::Open{name.number, name.generation});
  others_.merge(one);
  return {};
}

std::vector<OpenedSegment> SegmentMember::opened() {
  const MutexLock lock(mu_);
  return std::exchange(opened_, {});
}

Result<SegmentMember::Read> SegmentMember::opened(std::uint64_t number) const {
  const MutexLock lock(mu_);
  const auto other = others_.find(number);
  if (other != others_.end() && other->second.memory != nullptr && !other->second.closing) {
    return Read{other->second.memory, other->second.name};
  }
  return no_segment("scatter", number, " is not opened");
}

Result<void> SegmentMember::close(std::uint64_t number, StreamMark mark, SegmentAfter after) {
  const MutexLock lock(mu_);
  const auto other = others_.find(number);
  if (other == others_.end() || other->second.memory == nullptr || other->second.closing) {
    return no_segment("close", number, " is not opened");
  }
  post(std::move(mark), Close{number, after});
  other->second.closing = true;
  return {};
}

Result<void> SegmentMember::drop(const SegmentName& name) {
  const MutexLock lock(mu_);
  AQUA_TRY(check_connected());
  post(segment_wire::Drop{name.number, name.generation});
  return {};
}

SegmentsStatus SegmentMember::status() const {
  const MutexLock lock(mu_);
  SegmentsStatus status{.connected = connected_,
                        .error = error_.text(),
                        .keeper = keeper_number_,
                        .ready = ready_.size()};
  for (const auto& [number, own] : own_) {
    status.taken += own.state == State::taken || own.state == State::ending ? 1 : 0;
    status.kept += own.state == State::kept ? 1 : 0;
    status.mapped_bytes += own.memory->bytes();
  }
  for (const auto& [number, other] : others_) {
    if (other.memory == nullptr) continue;
    ++status.reading;
    status.mapped_bytes += other.memory->bytes();
  }
  for (const auto& [number, memory] : spare_) status.mapped_bytes += memory->bytes();
  return status;
}

void SegmentMember::stop() {
  marked_.stop();
  link_->stop();
}

void SegmentMember::leave() {
  {
    const MutexLock lock(mu_);  // for which nobody is left to wait
    // What nothing posted has waited for.
    for (const auto& [number, own] : own_) (void)wait_for_copies(*own.memory);
    for (const auto& [number, other] : others_) {
      if (other.memory != nullptr) (void)wait_for_copies(*other.memory);
    }
    own_.clear();
    others_.clear();
    spare_.clear();
    unmapped_.clear();
  }
  if (keeper_.connected()) (void)keeper_.call(segment_wire::Leave{});
}

void SegmentMember::reached(const Pending& pending, const StreamMark& mark,
                            const Result<void>& outcome) {
  if (const auto* const commit = std::get_if<Commit>(&pending.work)) {
    reached(*commit, pending.told, mark, outcome);
  } else if (const auto* const release = std::get_if<Release>(&pending.work)) {
    reached(*release);
  } else {
    reached(std::get<Close>(pending.work), outcome);
  }
}

void SegmentMember::reached(const Release& release) {
  Memory memory;
  {
    const MutexLock lock(mu_);
    memory = own_.at(release.number).memory;
  }
  (void)wait_for_copies(*memory);  // what failed is not the next one's
  const MutexLock lock(mu_);
  own_.at(release.number).state = State::ready;
  ready_.push_back(release.number);
  link_->kick();  // there may be more than are to be kept now
  news_->tell();
}

void SegmentMember::reached(const Commit& commit, std::uint64_t told, const StreamMark& mark,
                            Result<void> outcome) {
  Memory memory;
  {
    const MutexLock lock(mu_);
    memory = own_.at(commit.number).memory;
  }
  auto complete = memory->wait();  // behind all marks
  news_->tell();                   // what it was gathered from is read no more
  std::vector<std::uint64_t> failures;
  {
    const MutexLock lock(mu_);
    // Something else may have heard of a failure before, a ticket or an earlier mark.
    bool failed = told_.concerns(mark.latest_failure(), told);
    failures.push_back(mark.latest_failure());
    for (const Gathered& each : commit.gathered) {
      failed = failed || told_.concerns(each.mark.latest_failure(), each.told);
      failures.push_back(each.mark.latest_failure());
    }
    if (outcome.ok() && failed)
      outcome = Error{Code::data_loss, "segments: work before it on its stream has failed"};
    std::erase(failures, 0U);
  }
  if (complete.ok()) complete = outcome;
  segment_wire::Commit asked{.number = commit.number, .bytes = commit.bytes};
  asked.parcel = commit.parcel;
  if (complete.ok() && options_.digest) asked.digest = xxh3_of({memory->address(), commit.bytes});
  const MutexLock lock(mu_);
  if (complete.ok()) return post(asked);
  failures_.insert(failures_.end(), failures.begin(), failures.end());
  own_.at(commit.number).state = State::taken;
  committed_.push_back({.name = {.number = commit.number}, .error = complete.error()});
  news_->tell();
}

void SegmentMember::reached(const Close& close, const Result<void>& outcome) {
  Memory memory;
  {
    const MutexLock lock(mu_);
    memory = others_.at(close.number).memory;
  }
  auto arrived = wait_for_copies(*memory);
  if (arrived.ok()) arrived = outcome;
  const MutexLock lock(mu_);
  const auto other = others_.find(close.number);
  const SegmentName name = other->second.name;
  spare_.emplace_back(close.number, std::move(other->second.memory));
  if (spare_.size() > options_.ready) {
    unmapped_.push_back(std::move(spare_.front().second));
    spare_.pop_front();
  }
  others_.erase(other);
  // Dropped first: it is read till then, so that nobody else drops another generation by this.
  if (close.after == SegmentAfter::drop && arrived.ok()) {
    post(segment_wire::Drop{close.number, name.generation});
  } else if (close.after == SegmentAfter::drop) {
    error_.lasts(concat("close: segment ", close.number, " is kept: ", arrived.error().message));
  }
  post(segment_wire::Close{.number = close.number, .adopt = close.after == SegmentAfter::adopt});
  news_->tell();  // it can be read again
}

}  // namespace aqua
