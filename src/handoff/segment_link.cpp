// SPDX-License-Identifier: Apache-2.0
// What a SegmentMember does on its link: it speaks to the keeper, maps and unmaps.
#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "handoff/segment_member.hpp"

namespace aqua {
namespace {

// Segments that are alike can serve each other's turn: at most an eighth is wasted.
std::size_t size_class(std::size_t bytes) {
  const std::size_t unit = std::max<std::size_t>(std::bit_floor(bytes) / 8, 1);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void SegmentMember::start_link() {
  link_->start({.turn = [this](bool ending) { return turn(ending); },
                .woken =
                    [this] {
                      const MutexLock lock(mu_);
                      returned_ = true;
                      starved_ = false;  // or there may be room for what was refused
                    },
                .closed =
                    [this] {
                      const MutexLock lock(mu_);
                      disconnect("the keeper has closed");
                    }});
}

KeeperLink::Turn SegmentMember::turn(bool ending) {
  std::vector<Memory> unmapped;  // goes without the lock
  std::optional<segment_wire::Request> request;
  {
    const MutexLock lock(mu_);
    unmapped.swap(unmapped_);
    request = next(ending);
    if (!request) return connected_ ? KeeperLink::Turn::idle : KeeperLink::Turn::disconnected;
  }
  unmapped.clear();
  ask(*request);
  return KeeperLink::Turn::asked;
}

std::optional<segment_wire::Request> SegmentMember::next(bool ending) {
  if (!due_.empty()) {
    const segment_wire::Request first = due_.front();
    due_.pop_front();
    return first;
  }
  if (!connected_ || ending) return std::nullopt;
  if (std::exchange(returned_, false)) return segment_wire::Returned{};
  // What take() was asked for stays until it comes back for it.
  const std::size_t most_ready = 2 * std::size_t{options_.ready} + (wanted_ == 0 ? 0 : 1);
  if (ready_.size() > most_ready) {
    const std::uint64_t number = ready_.front();
    ready_.pop_front();
    unmapped_.push_back(std::move(own_.at(number).memory));
    own_.erase(number);
    return segment_wire::GiveUp{number};
  }
  if (starved_) return std::nullopt;
  if (wanted_ != 0 && fitting(wanted_) == ready_.end()) {
    return segment_wire::Reserve{std::max(options_.segment_bytes, size_class(wanted_))};
  }
  if (ready_.size() < options_.ready) return segment_wire::Reserve{options_.segment_bytes};
  return std::nullopt;
}

void SegmentMember::ask(const segment_wire::Request& request) {
  std::visit([this](const auto& asked) { ask(asked); }, request);
}

Result<SegmentClient::Answer> SegmentMember::call(const segment_wire::Request& request,
                                                  std::chrono::milliseconds patience) {
  auto answer = link_->ask([&] { return keeper_.call(request, patience); });
  const MutexLock lock(mu_);
  if (answer.ok()) {
    error_.granted(request.index());
  } else if (!keeper_.connected()) {
    disconnect(answer.error().message);
  } else {
    error_.refused(request.index(), answer.error().message);
  }
  return answer;
}

Result<SegmentMember::Memory> SegmentMember::map(const SegmentClient::Answer& answer,
                                                 Access access) {
  if (answer.fds.size() != 1) {
    return Error{
        Code::invalid_argument,
        concat("segments: the keeper's answer cannot be: ", answer.fds.size(), " descriptors")};
  }
  step("map");
  AQUA_ASSIGN(HostMemory memory,
              HostMemory::map(runtime_, {answer.fds[0].get(), answer.reply.capacity}, access));
  return std::make_shared<HostMemory>(std::move(memory));
}

Result<void> SegmentMember::reserve_one(std::size_t bytes, std::chrono::milliseconds patience) {
  step("reserve");
  AQUA_ASSIGN(const auto answer, call(segment_wire::Reserve{bytes}, patience));
  const std::uint64_t number = answer.reply.name.number;
  auto memory = map(answer, Access::write);
  if (!memory.ok()) {
    (void)call(segment_wire::GiveUp{number}, patience);
    return std::move(memory).error();
  }
  const MutexLock lock(mu_);
  own_[number] = {std::move(memory).value(), State::ready};
  ready_.push_back(number);
  news_->tell();
  return {};
}

Result<void> SegmentMember::reserve_first() {
  constexpr auto kPatience = KeeperConnection::kPatience;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::uint32_t ready = 0; ready < options_.ready;) {
    auto reserved = reserve_one(options_.segment_bytes, kPatience);
    if (reserved.ok()) {
      ++ready;
      continue;
    }
    const bool refused = [this] {  // else this process has no room to map it
      const MutexLock lock(mu_);
      return !error_.of(segment_wire::Request(segment_wire::Reserve{}).index()).empty();
    }();
    if (!refused || reserved.error().code != Code::resource_exhausted) return reserved;
    step("refused");
    // After a refusal the keeper signals when there is room again.
    AQUA_ASSIGN(const bool woken, keeper_.wait_for(link_->wake_event(), until));
    if (!woken || std::chrono::steady_clock::now() >= until) return reserved;
    clear_event(link_->wake_event());
  }
  return {};
}

void SegmentMember::ask(const segment_wire::Reserve& asked) {
  const auto reserved = reserve_one(asked.bytes, KeeperLink::kWithoutEnd);
  if (reserved.ok()) return;
  // What was refused is not asked for again before take() is.
  const MutexLock lock(mu_);
  starved_ = true;
  if (connected_) error_.refused(segment_wire::Request(asked).index(), reserved.error().message);
}

void SegmentMember::ask(const segment_wire::Commit& asked) {
  step("commit");
  const auto answer = call(asked);
  committed(asked.number, answer);
  tell_committed_();
}

void SegmentMember::committed(std::uint64_t number, const Result<SegmentClient::Answer>& answer) {
  const MutexLock lock(mu_);
  CommittedSegment outcome{.name = {.number = number}};
  if (answer.ok()) {
    outcome.name = answer->reply.name;
    own_.at(number).state = State::kept;
  } else {
    outcome.error = answer.error();
    unmapped_.push_back(std::move(own_.at(number).memory));
    own_.erase(number);
    if (keeper_.connected()) post(segment_wire::GiveUp{number});
  }
  committed_.push_back(std::move(outcome));
  news_->tell();
}

void SegmentMember::ask(const segment_wire::Open& asked) {
  step("open");
  auto answer = call(asked);
  Memory memory;
  {
    const MutexLock lock(mu_);
    const auto spare = std::find_if(spare_.begin(), spare_.end(),
                                    [&](const auto& one) { return one.first == asked.number; });
    if (spare != spare_.end()) {
      memory = std::move(spare->second);
      spare_.erase(spare);
    }
  }
  std::optional<Error> error;
  if (!answer.ok()) {
    error = answer.error();
  } else if (memory == nullptr) {
    auto mapped = map(*answer, Access::read);
    if (mapped.ok()) {
      memory = std::move(mapped).value();
    } else {
      error = mapped.error();
      (void)call(segment_wire::Close{asked.number});
    }
  }
  const MutexLock lock(mu_);
  const auto other = others_.find(asked.number);
  // The keeper's name counts: who was told another one was told wrong.
  if (!error &&
      (answer->reply.name != other->second.name || answer->reply.name.bytes > memory->bytes())) {
    error = Error{Code::invalid_argument,
                  concat("segments: read: segment ", asked.number, " has ",
                         answer->reply.name.bytes, " bytes, or another digest than was said")};
    post(segment_wire::Close{asked.number});
  }
  OpenedSegment outcome{.name = other->second.name, .error = error};
  if (error) {
    if (memory != nullptr) unmapped_.push_back(std::move(memory));
    others_.erase(other);
  } else {
    outcome.segment = {asked.number, memory->address(), memory->bytes(), memory->locked()};
    other->second.memory = std::move(memory);
  }
  opened_.push_back(std::move(outcome));
  news_->tell();
}

void SegmentMember::ask(const segment_wire::Returned& asked) {
  const auto answer = call(asked);
  if (!answer.ok()) return;
  const MutexLock lock(mu_);
  for (const std::uint64_t number : answer->reply.numbers) {
    const auto own = own_.find(number);
    if (own == own_.end() || own->second.state != State::kept) continue;
    own->second.state = State::ready;
    ready_.push_back(number);
  }
  returned_ = answer->reply.numbers.size() == segment_wire::kMostNumbers;  // there may be more
  news_->tell();
}

template <typename Asked>
void SegmentMember::ask(const Asked& asked) {
  (void)call(asked);
}

void SegmentMember::disconnect(const std::string& why) {
  if (!connected_) return;
  connected_ = false;
  error_.lasts(why);
  news_->tell();
}

}  // namespace aqua
