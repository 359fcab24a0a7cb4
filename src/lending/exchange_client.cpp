#include "lending/exchange_client.hpp"

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

}  // namespace

Result<void> ExchangeClient::ensure_connected() {
  if (fd_.valid()) return {};
  AQUA_ASSIGN(UniqueFd fd, connect_seqpacket(path_));
  AQUA_TRY(send_message(fd.get(), encode(Hello{self_}), {}, kPatience));
  AQUA_ASSIGN(const Message message, receive_message(fd.get(), kMaxExchangeBytes, kPatience));
  AQUA_ASSIGN(const Reply reply, decode_reply(message, 1));
  if (reply.entries[0].code != 0) {
    return Error{from_reply_code(reply.entries[0].code), concat("exchange: ", path_, " refused our hello")};
  }
  fd_ = std::move(fd);
  unread_replies_ = 0;
  return {};
}

// Reads the answers to earlier give_backs, whose content changes nothing for us.
Result<void> ExchangeClient::drain(std::chrono::milliseconds patience) {
  while (unread_replies_ > 0) {
    auto message = receive_message(fd_.get(), kMaxExchangeBytes, patience);
    if (!message.ok()) return std::move(message).error();
    if (message->bytes.empty()) return Error{Code::unavailable, "exchange: the exporter has closed"};
    --unread_replies_;
  }
  return {};
}

Result<std::vector<ExchangeClient::Fetched>> ExchangeClient::fetch(std::span<const FetchEntry> entries) {
  if (entries.empty() || entries.size() > kMaxExchangeEntries) {
    return Error{Code::invalid_argument, concat("fetch: ", entries.size(), " slabs in one message")};
  }
  const MutexLock lock(mu_);
  AQUA_TRY(ensure_connected());
  auto fetched = fetch_locked(entries);
  if (fetched.ok()) return fetched;
  const Code code = fetched.error().code;
  const bool answered = code == Code::aborted || code == Code::permission_denied || code == Code::not_found ||
                        code == Code::failed_precondition;
  if (!answered) fd_.reset();  // out of step or gone: begin anew next time
  if (code == Code::deadline_exceeded) return Error{Code::unavailable, fetched.error().message};
  return fetched;
}

Result<std::vector<ExchangeClient::Fetched>> ExchangeClient::fetch_locked(std::span<const FetchEntry> entries) {
  AQUA_TRY(drain(kPatience));
  AQUA_TRY(send_message(fd_.get(), encode(Fetch{{entries.begin(), entries.end()}}), {}, kPatience));
  AQUA_ASSIGN(Message message, receive_message(fd_.get(), kMaxExchangeBytes, kPatience));
  AQUA_ASSIGN(const Reply reply, decode_reply(message, entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t code = reply.entries[i].code;
    if (code == 0 || (from_reply_code(code) == Code::aborted && i + 1 < entries.size())) continue;
    return Error{from_reply_code(code), concat("fetch: the exporter refused slab ", entries[i].index, " generation ",
                                               entries[i].generation, ": ", to_string(from_reply_code(code)))};
  }
  if (reply.entries.front().code != 0) {
    return Error{Code::aborted, concat("fetch: slab ", entries.front().index, " has another generation by now")};
  }
  if (message.fds.size() != entries.size()) {
    return Error{Code::internal, concat("fetch: ", message.fds.size(), " descriptors for ", entries.size(), " slabs")};
  }
  std::vector<Fetched> fetched(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fetched[i] = {std::move(message.fds[i]), static_cast<std::size_t>(reply.entries[i].bytes)};
  }
  return fetched;
}

Result<void> ExchangeClient::give_back(std::span<const GiveBackEntry> entries) {
  const MutexLock lock(mu_);
  AQUA_TRY(ensure_connected());
  const auto drained = drain(std::chrono::milliseconds{0});
  const bool alive = drained.ok() || drained.error().code == Code::deadline_exceeded;
  if (!alive) {
    fd_.reset();
    AQUA_TRY(ensure_connected());
  }
  for (std::size_t first = 0; first < entries.size(); first += kMaxExchangeEntries) {
    const auto part = entries.subspan(first, std::min(kMaxExchangeEntries, entries.size() - first));
    auto sent = send_message(fd_.get(), encode(GiveBack{{part.begin(), part.end()}}), {}, std::chrono::milliseconds{50});
    if (!sent.ok()) {
      fd_.reset();
      return sent;
    }
    ++unread_replies_;
  }
  return {};
}

}  // namespace aqua::lending
