// SPDX-License-Identifier: Apache-2.0
#include "lending/exchange_client.hpp"

#include <poll.h>

#include <algorithm>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::lending {
namespace {

Result<Reply> decode_reply(const Message& message, std::size_t count) {
  if (message.bytes.empty()) return Error{Code::unavailable, "exchange: the exporter has closed"};
  AQUA_ASSIGN(ExchangeMessage decoded, decode(message.bytes));
  auto* reply = std::get_if<Reply>(&decoded);
  if (reply == nullptr || reply->entries.size() != count) {
    return Error{Code::internal, "exchange: the exporter's answer does not fit the request"};
  }
  return std::move(*reply);
}

// A silent exporter and an absent one are the same to the caller.
Error as_unavailable(Error error) {
  if (error.code == Code::deadline_exceeded) error.code = Code::unavailable;
  return error;
}

constexpr std::chrono::milliseconds kPostPatience{50};

}  // namespace

Result<void> ExchangeClient::ensure_connected() {
  if (fd_.valid()) return {};
  AQUA_ASSIGN(UniqueFd fd, connect_seqpacket(path_));
  // Whoever listens there reads what will be written to the memory that comes from there.
  AQUA_TRY(check_listener(fd.get(), concat("exchange: ", path_)));
  AQUA_TRY(send_message(fd.get(), encode(Hello{self_}), {}, kPatience));
  auto message = receive_message(fd.get(), kMaxExchangeBytes, kPatience);
  if (!message.ok()) return as_unavailable(std::move(message).error());
  AQUA_ASSIGN(const Reply reply, decode_reply(*message, 1));
  if (reply.entries[0].code != 0) {
    const Code code = from_reply_code(reply.entries[0].code);
    return Error{code, concat("exchange: ", path_, " refused our hello: ", to_string(code),
                              code == Code::unimplemented
                                  ? ", the lender is in another pid namespace (hostPID in "
                                    "Kubernetes), and its kernel is older than Linux 6.9"
                                  : "")};
  }
  fd_ = std::move(fd);
  unread_replies_ = 0;
  return {};
}

// Reads answers whose content changes nothing for us: to give_backs, and to a fetch that we
// gave up (its descriptors are closed). deadline_exceeded when one has not come yet.
Result<void> ExchangeClient::drain(std::chrono::milliseconds patience) {
  while (unread_replies_ > 0) {
    auto message = receive_message(fd_.get(), kMaxExchangeBytes, patience);
    if (!message.ok() && message.error().code != Code::resource_exhausted)
      return std::move(message).error();
    if (message.ok() && message->bytes.empty())
      return Error{Code::unavailable, "exchange: the exporter has closed"};
    --unread_replies_;
  }
  return {};
}

Result<std::vector<ExchangeClient::Fetched>> ExchangeClient::fetch(
    std::span<const FetchEntry> entries) {
  if (entries.empty() || entries.size() > kMaxExchangeEntries) {
    return Error{Code::invalid_argument,
                 concat("fetch: ", entries.size(), " slabs in one message")};
  }
  const MutexLock lock(mu_);
  AQUA_TRY(ensure_connected());
  if (auto drained = drain(kPatience); !drained.ok()) {
    if (drained.error().code != Code::deadline_exceeded) fd_.reset();
    return as_unavailable(std::move(drained).error());
  }
  if (auto sent =
          send_message(fd_.get(), encode(Fetch{{entries.begin(), entries.end()}}), {}, kPatience);
      !sent.ok()) {
    fd_.reset();
    return std::move(sent).error();
  }
  auto message = receive_message(fd_.get(), kMaxExchangeBytes, kPatience);
  if (!message.ok()) return give_up(entries, std::move(message).error());
  auto reply = decode_reply(*message, entries.size());
  if (!reply.ok()) {
    fd_.reset();  // out of step or gone: begin anew next time
    return std::move(reply).error();
  }
  return take(*std::move(message), *reply, entries);
}

// The exporter may have granted, or may grant yet when it is only slow, what we cannot have:
// a give_back behind the fetch undoes that, and is refused when there is nothing to undo.
Error ExchangeClient::give_up(std::span<const FetchEntry> entries, Error why) {
  const bool late = why.code == Code::deadline_exceeded;
  if (!late && why.code != Code::resource_exhausted) {
    fd_.reset();
    return why;
  }
  if (late) ++unread_replies_;
  GiveBack back;
  for (const FetchEntry& entry : entries) back.entries.push_back({entry.index, entry.generation});
  (void)post(back);  // when not even this can be sent, the coordinator is told
  return as_unavailable(std::move(why));
}

Result<std::vector<ExchangeClient::Fetched>> ExchangeClient::take(
    Message message, const Reply& reply, std::span<const FetchEntry> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t code = reply.entries[i].code;
    if (code == 0 || (from_reply_code(code) == Code::aborted && i + 1 < entries.size())) continue;
    return Error{from_reply_code(code),
                 concat("fetch: the exporter refused slab ", entries[i].index, " generation ",
                        entries[i].generation, ": ", to_string(from_reply_code(code)))};
  }
  if (reply.entries.front().code != 0) {
    return Error{Code::aborted,
                 concat("fetch: slab ", entries.front().index, " has another generation by now")};
  }
  if (message.fds.size() != entries.size()) {
    return Error{Code::internal, concat("fetch: ", message.fds.size(), " descriptors for ",
                                        entries.size(), " slabs")};
  }
  std::vector<Fetched> fetched(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fetched[i] = {std::move(message.fds[i]), static_cast<std::size_t>(reply.entries[i].bytes)};
  }
  return fetched;
}

Result<void> ExchangeClient::give_back(std::span<const GiveBackEntry> entries) {
  const MutexLock lock(mu_);
  for (std::size_t first = 0; first < entries.size(); first += kMaxExchangeEntries) {
    const auto part = entries.subspan(first, std::min(kMaxExchangeEntries, entries.size() - first));
    const GiveBack message{{part.begin(), part.end()}};
    AQUA_TRY(ensure_connected());
    auto posted = post(message);
    if (!posted.ok() && !fd_.valid()) {  // the exporter closed this connection, but may be there
      AQUA_TRY(ensure_connected());
      posted = post(message);
    }
    AQUA_TRY(posted);
  }
  return {};
}

// Leaves a connection that is only full as it is: what was posted before will be read.
Result<void> ExchangeClient::post(const GiveBack& message) {
  auto outcome = drain(std::chrono::milliseconds{0});
  if (outcome.ok() || outcome.error().code == Code::deadline_exceeded) {
    outcome = send_message(fd_.get(), encode(message), {}, kPostPatience);
    if (outcome.ok()) {
      ++unread_replies_;
      return {};
    }
    if (!peer_has_closed(fd_.get())) return outcome;
  }
  fd_.reset();
  return outcome;
}

bool ExchangeClient::disconnected() {
  const MutexLock lock(mu_);
  if (!fd_.valid()) return true;
  pollfd poll_fd{fd_.get(), 0, 0};  // the end alone; answers may wait to be read
  if (::poll(&poll_fd, 1, 0) != 1) return false;
  fd_.reset();
  return true;
}

}  // namespace aqua::lending
