// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/carrier_talk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::courier {
namespace {

// The rest of the greeting's time is for saying that it was in vain.
constexpr std::chrono::milliseconds kReach{2000};
constexpr std::chrono::minutes kAvoided{1};
constexpr const char* kOverUcx = ", bytes over UCX";

std::string over_tls(const std::string& why) {
  return concat(", bytes over TLS: ", why);
}

}  // namespace

void CarrierHistory::lost(const Link& link) {
  if (link.has_carried_in_vain()) until_ = std::chrono::steady_clock::now() + kAvoided;
}

CarrierOffer::CarrierOffer(const Link& link, const CarrierHistory& history)
    : choice_(history.choice()) {
  if (choice_ == CarrierChoice::tls) return;
  if (history.avoids_ucx()) {
    why_not_ = "UCX has moved nothing, and is tried again in a minute";
    return;
  }
  auto opened = UcxCarrier::open(link.stream(), choice_);
  if (opened.ok()) {
    ucx_ = *std::move(opened);
  } else {
    why_not_ = opened.error().message;
  }
}

std::optional<UcxPoint> CarrierOffer::point() const {
  return ucx_ == nullptr ? std::nullopt : std::optional(ucx_->here());
}

Result<std::string> CarrierOffer::settle(Link& link, const Welcome& welcome) {
  if (choice_ == CarrierChoice::tls) return std::string();
  if (ucx_ == nullptr) return over_tls(why_not_);
  if (!welcome.ucx) return over_tls(concat("the other side: ", welcome.why_not));
  const auto reached = ucx_->reach(*welcome.ucx, std::min(kReach, link.stream().may_wait()));
  if (!reached.ok() && reached.error().code == Code::cancelled) return reached.error();
  if (!reached.ok()) {
    AQUA_TRY(link.say(Settled{false, reached.error().message}));
    return over_tls(reached.error().message);
  }
  AQUA_TRY(link.say(Settled{true}));
  link.carry_by(std::move(ucx_));
  return std::string(kOverUcx);
}

Result<std::string> welcome(Link& link, CarrierChoice choice,
                            const std::optional<UcxPoint>& offered) {
  if (choice == CarrierChoice::tls || !offered) {
    AQUA_TRY(link.say(Welcome{{}, offered ? "it does not allow UCX" : ""}));
    return choice == CarrierChoice::tls ? std::string()
                                        : over_tls("the other side does not offer UCX");
  }
  auto ucx = UcxCarrier::open(link.stream(), choice);
  if (!ucx.ok()) {
    AQUA_TRY(link.say(Welcome{{}, ucx.error().message}));
    return over_tls(ucx.error().message);
  }
  AQUA_TRY(link.say(Welcome{(*ucx)->here(), ""}));
  const auto answered = (*ucx)->answer(*offered);
  if (!answered.ok() && answered.error().code == Code::cancelled) return answered.error();
  AQUA_ASSIGN(const Link::Frame frame, link.receive());
  const auto* const settled = frame.message ? std::get_if<Settled>(&*frame.message) : nullptr;
  if (settled == nullptr) {
    return Error{Code::invalid_argument, "courier: the other side does not settle the carrier"};
  }
  if (!settled->ucx) return over_tls(concat("the other side: ", settled->why_not));
  AQUA_TRY(answered);
  link.carry_by(*std::move(ucx));
  return std::string(kOverUcx);
}

}  // namespace aqua::courier
