// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/mirror/mirror_sender.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "tools/courier/carry/await_news.hpp"
#include "tools/courier/carry/send_all.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFull{5};  // until the other server has room again, perhaps
constexpr std::size_t kMostOfAll = std::size_t{1} << 16;  // copies, more than any keeper keeps

Error no_answer() {
  return {Code::invalid_argument, "courier: what is no answer to a copy"};
}

}  // namespace

void MirrorSender::run() {
  do {
    const auto served = serve();
    if (served.error().code == Code::cancelled) return;
    if (link_) {
      state_.lost(!link_->is_over_tls());
      carrier_history_.lost(*link_);
      link_.reset();
      ++counters_.lost_links;
    }
    if (offered_ && keeper_->connected()) (void)let_go_of_offered();
    offered_.reset();
    if (keeper_ && !keeper_->connected()) keeper_.reset();
    if (plan_) {
      plan_->restart();  // of what the other side has nothing is known
      state_.set_behind(plan_->behind());
    }
    const std::string& why = served.error().message;
    state_.failed(why);
    if (retries_.lost(why)) say_(Event::lost, why);
  } while (retries_.pause());
}

Result<void> MirrorSender::serve() {
  if (!keeper_) {
    AQUA_ASSIGN(KeeperSegments joined, KeeperSegments::join(keeper_path_));
    AQUA_TRY(joined.watch());
    keeper_.emplace(std::move(joined));
    plan_.emplace(keeper_->keeper());
  }
  news_ = true;
  AQUA_TRY(hear_keeper());
  AQUA_TRY(greet());
  for (;;) {
    AQUA_TRY(hear_keeper());
    AQUA_TRY(say_next());
    AQUA_TRY(wait());
  }
}

Result<void> MirrorSender::greet() {
  AQUA_ASSIGN(Link link, Link::connect(identity_, mirror_.address, mirror_.peer, stop_));
  CarrierOffer carrier(link, carrier_history_);
  AQUA_TRY(link.say(MirrorHello{.ucx = carrier.point()}));
  retry_at_.reset();
  std::optional<std::string> how;  // once it has said welcome
  std::size_t all = 0;
  for (;;) {
    AQUA_ASSIGN(const Link::Frame answer, link.receive());
    if (!answer.message) break;
    if (const auto* refused = std::get_if<Refused>(&*answer.message)) {
      return sent_away(*refused);
    }
    if (const auto* welcome = std::get_if<Welcome>(&*answer.message); welcome && !how) {
      AQUA_ASSIGN(how, carrier.settle(link, *welcome));
      continue;
    }
    const auto* held = std::get_if<Held>(&*answer.message);
    if (held == nullptr || !how || (all += held->all.size()) > kMostOfAll) break;
    plan_->held(held->all);
    if (!held->all.empty()) continue;
    link.greeted(mirror_.patience);
    link_.emplace(std::move(link));
    retries_.connected();
    state_.connected(!link_->is_over_tls());
    say_(Event::connected, concat("connected to ", mirror_.peer, " at ", mirror_.address, *how));
    return {};
  }
  return Error{Code::invalid_argument, "courier: the other side does not say what it has"};
}

Result<void> MirrorSender::hear_keeper() {
  if (!std::exchange(news_, false)) return {};
  AQUA_TRY(keeper_->clear_news());
  AQUA_ASSIGN(const auto rows, keeper_->list());
  plan_->kept(rows);
  state_.set_behind(plan_->behind());
  return {};
}

Result<void> MirrorSender::say_next() {
  if (retry_at_ && Clock::now() >= *retry_at_) {
    plan_->retry();
    retry_at_.reset();
  }
  while (!offered_) {
    const auto next = plan_->next();
    if (!next) return {};
    if (const auto* forget = std::get_if<Forget>(&*next)) {
      AQUA_TRY(link_->say(*forget));
      continue;
    }
    AQUA_TRY(offer(std::get<SegmentName>(*next)));
  }
  return {};
}

Result<void> MirrorSender::offer(const SegmentName& name) {
  auto memory = keeper_->read(name);
  if (!memory.ok()) {
    if (!keeper_->connected()) return memory.error();
    const Code code = memory.error().code;
    if (code == Code::not_found || code == Code::aborted) {  // it was dropped meanwhile
      news_ = true;
      return hear_keeper();
    }
    say_(Event::copy, concat("segment ", name.number, ": ", memory.error().message));
    plan_->give_up(name);
    return {};
  }
  offered_.emplace(Offered{name, *std::move(memory), Clock::now()});
  step("copy");
  return link_->say(Copy{.number = ++offer_,
                         .original = plan_->original_of(name),
                         .bytes = name.bytes,
                         .digest = name.digest});
}

Result<void> MirrorSender::let_go_of_offered() {
  const SegmentName name = offered_->name;
  offered_.reset();
  return keeper_->close(name);
}

Result<void> MirrorSender::wait() {
  const auto due = offered_ ? offered_->at + link_->patience() : Clock::time_point::max();
  const auto until = std::min(due, retry_at_.value_or(Clock::time_point::max()));
  AQUA_ASSIGN(const News news, await_news(*link_, keeper_->descriptors(), stop_, until));
  news_ = news.keeper;
  if (!news.frame) {
    if (Clock::now() < due) return {};
    return Error{Code::unavailable, "courier: no answer to what was offered"};
  }
  if (news.frame->message) return hear(*news.frame->message);
  return Error{Code::invalid_argument, "courier: bytes from who is to receive them"};
}

Result<void> MirrorSender::hear(const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message)) {
    if (refused->number == 0) return sent_away(*refused);
    if (!offered_ || refused->number != offer_) return no_answer();
    ++counters_.refused;
    const std::string why = concat("segment ", offered_->name.number, ": ", refused->error.message);
    if (refused->error.code == Code::resource_exhausted) {
      plan_->no_room_for(offered_->name);
      if (!std::exchange(said_full_, true)) say_(Event::copy, why);
      retry_at_ = Clock::now() + kFull;
    } else {
      plan_->give_up(offered_->name);
      say_(Event::copy, why);
    }
    return let_go_of_offered();
  }
  const auto* go = std::get_if<Go>(&message);
  if (go != nullptr && offered_ && go->number == offer_ && !std::exchange(offered_->sent, true)) {
    step("send");
    AQUA_TRY(send_all(*link_, offered_->memory.bytes().first(offered_->name.bytes), state_,
                      counters_.mirrored_bytes));
    offered_->at = Clock::now();
    return {};
  }
  const auto* landed = std::get_if<Landed>(&message);
  if (landed != nullptr && offered_ && landed->number == offer_) {
    plan_->landed(offered_->name);
    ++counters_.mirrored;
    said_full_ = false;
    state_.set_behind(plan_->behind());
    return let_go_of_offered();
  }
  return no_answer();
}

}  // namespace aqua::courier
