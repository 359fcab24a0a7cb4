// SPDX-License-Identifier: Apache-2.0
#include "tools/router/flow/attempt.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/start_thread.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

constexpr std::size_t kMostWhole = Mailbox::kMostBytes;

}  // namespace

Attempt::Attempt(std::shared_ptr<const EngineEndpoint> engine, AttemptOrder order,
                 std::shared_ptr<Mailbox> mail)
    : engine_(std::move(engine)),
      order_(std::move(order)),
      mail_(std::move(mail)),
      client_(engine_->url, {.api_key = engine_->api_key, .timeout = order_.silence}) {
  if (order_.kind != AttemptKind::receive) pieces_.emplace(order_.turn, order_.from);
  auto thread = http::start_thread([this] { run(); });
  if (thread.ok()) {
    thread_ = std::move(thread).value();
  } else {
    die(0, thread.error());
  }
}

Attempt::~Attempt() {
  cut();
  if (thread_.joinable()) thread_.join();
}

void Attempt::cut() {
  if (!cut_.exchange(true)) client_.stop();
}

void Attempt::grant(std::uint64_t from) {
  granted_ = static_cast<std::int64_t>(from);
}

void Attempt::die(int status, Error error) {
  if (cut_) return;
  error.message = concat("engine ", engine_->name, ": ", error.message);
  mail_->post(Mail{AttemptDied{order_.turn, status, std::move(error)}});
}

void Attempt::run() {
  const auto reply = client_.post(order_.call.path, order_.call.body,
                                  [this](std::string_view bytes, auto) { return hear(bytes); });
  if (done_) return;
  if (overflowed_) {
    const Error error{Code::resource_exhausted, "the client reads its answer too slowly"};
    return mail_->post(Mail{AttemptDied{order_.turn, 0, error, true}});
  }
  if (!fault_.empty()) return die(0, {Code::data_loss, fault_});
  if (!reply.ok()) return die(0, reply.error());
  if (reply->status != 200) {
    return die(reply->status, {Code::unavailable, concat("answers ", reply->status, ": ",
                                                         http::error_text(reply->body))});
  }
  if (order_.kind != AttemptKind::raw_whole)
    return die(0, {Code::unavailable, "broke off: its answer ended in the middle"});
  (void)mail_->post({Mail{RawPart{order_.turn, std::move(whole_), true}}});
}

http::Heard Attempt::hear(std::string_view bytes) {
  if (cut_) return http::Heard::enough;
  if (order_.kind == AttemptKind::raw_whole) {
    whole_ += bytes;
    if (whole_.size() > kMostWhole)
      fault_ = concat("an answer of more than ", kMostWhole, " bytes");
    return fault_.empty() ? http::Heard::something : http::Heard::enough;
  }
  std::vector<Mail> mails;
  const auto fed = reader_.feed(bytes, [&](std::string_view data) {
    if (done_ || !fault_.empty()) return;
    order_.kind == AttemptKind::raw_stream ? take_raw(data, mails) : take(data, mails);
  });
  if (!fed.ok()) fault_ = fed.error().message;
  // A destination may say no token yet.
  const bool waits = order_.kind == AttemptKind::receive && granted_ < 0;
  const bool speaks = waits || std::ranges::any_of(mails, is_speech);
  if (!mails.empty()) overflowed_ = !mail_->post(std::move(mails));
  if (done_ || overflowed_ || !fault_.empty()) return http::Heard::enough;
  return speaks ? http::Heard::something : http::Heard::nothing;
}

bool Attempt::is_speech(const Mail& mail) {
  if (const auto* piece = std::get_if<Piece>(&mail)) return piece->count > 0;
  return !std::holds_alternative<EngineWord>(mail);
}

void Attempt::take(std::string_view data, std::vector<Mail>& mails) {
  if (!engine_->kv.pool.empty()) {
    auto word = parse_move_word(data);
    if (!word.ok()) {
      fault_ = word.error().message;
      return;
    }
    if (*word) {
      mails.emplace_back(EngineWord{order_.turn, **std::move(word)});
      return;
    }
  }
  auto event = parse_token_event(engine_->dialect, data, had_);
  if (!event.ok()) {
    fault_ = event.error().message;
    return;
  }
  had_ += event->count;
  if (order_.kind == AttemptKind::warm) {
    done_ = event->count > 0 || !event->finish.empty();
    if (done_) mails.emplace_back(WarmedUp{order_.turn});
    return;
  }
  if (!pieces_ && granted_ < 0) {
    fault_ = "speaks without a turn";
    return;
  }
  if (!pieces_) pieces_.emplace(order_.turn, static_cast<std::uint64_t>(granted_));
  auto piece =
      pieces_->feed(std::move(event->ids), event->count, event->text, event->finish, event->place);
  if (!piece.ok()) {
    fault_ = concat("its tokens are out of order: ", piece.error().message);
    return;
  }
  done_ = !event->finish.empty();
  if (*piece) mails.emplace_back(**std::move(piece));
}

void Attempt::take_raw(std::string_view data, std::vector<Mail>& mails) {
  done_ = data == "[DONE]";
  if (!done_ && !parse_shallow(data).is_object()) {
    fault_ = concat("not an event of an answer: ", report::shown(data));
    return;
  }
  mails.emplace_back(RawPart{order_.turn, std::string(data), done_});
}

}  // namespace aqua::router
