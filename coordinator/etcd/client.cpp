// SPDX-License-Identifier: Apache-2.0
#include "coordinator/etcd/client.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/curl/call.hpp"

namespace aqua::coordinator::etcd {
namespace {

constexpr std::size_t kMostPassword = 4096;

// Whether another member may answer what this one could not.
bool is_of_the_member(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::deadline_exceeded ||
         error.code == Code::failed_precondition;
}

}  // namespace

Client::Client(EtcdOptions options, std::stop_token stop)
    : options_(std::move(options)), stop_(std::move(stop)) {}

Result<std::string> Client::ask(std::string_view path, const std::string& body) {
  const std::size_t members = options_.members.size();
  const std::size_t first = [this] {
    const MutexLock lock(mu_);
    return first_;
  }();
  Error last{Code::unavailable, "etcd: no member is named"};
  for (std::size_t tried = 0; tried < members; ++tried) {
    const std::size_t at = (first + tried) % members;
    auto answer = options_.user.empty() ? ask_with({}, options_.members[at], path, body)
                                        : ask_as_user(options_.members[at], path, body);
    if (answer.ok() || !is_of_the_member(answer.error())) {
      const MutexLock lock(mu_);
      first_ = at;
      return answer;
    }
    last = std::move(answer).error();
  }
  if (last.code == Code::deadline_exceeded) last.code = Code::unavailable;
  return last;
}

Result<std::string> Client::ask_as_user(const std::string& member, std::string_view path,
                                        const std::string& body) {
  std::string token = [this] {
    const MutexLock lock(mu_);
    return token_;
  }();
  if (!token.empty()) {
    auto answer = ask_with(token, member, path, body);
    // A token ends some minutes after it was used last.
    if (answer.ok() || answer.error().code != Code::permission_denied) return answer;
  }
  AQUA_ASSIGN(token, new_token(member));
  {
    const MutexLock lock(mu_);
    token_ = token;
  }
  return ask_with(token, member, path, body);
}

Result<std::string> Client::new_token(const std::string& member) {
  AQUA_ASSIGN(const std::string file, read_file(options_.password_file, kMostPassword));
  AQUA_ASSIGN(const std::string body,
              ask_with({}, member, "auth/authenticate",
                       password_request(options_.user, file.substr(0, file.find('\n')))));
  return parse_token(body);
}

Result<std::string> Client::ask_with(const std::string& token, const std::string& member,
                                     std::string_view path, const std::string& body) {
  curl::Request request{.method = "POST",
                        .url = concat(member, "/v3/", path),
                        .headers = {"Content-Type: application/json"},
                        .body = body,
                        .authority = options_.authority,
                        .authority_from = "--etcd-authority",
                        .deadline = curl::Clock::now() + options_.timeout};
  if (!token.empty()) request.headers.push_back(concat("Authorization: ", token));
  curl::Outcome outcome = curl::call(request, stop_);
  if (!outcome.reply) return std::move(outcome.error);
  if (outcome.reply->status == 200) return std::move(outcome.reply->body);
  Error refused = parse_refusal(outcome.reply->status, outcome.reply->body);
  refused.message = concat(member, ": ", refused.message);
  return refused;
}

Result<Rows> Client::range(std::string_view prefix) {
  AQUA_ASSIGN(const std::string body, ask("kv/range", range_request(prefix)));
  return parse_rows(body);
}

Result<Outcome> Client::commit(const Transaction& transaction) {
  AQUA_ASSIGN(const std::string body, ask("kv/txn", transaction_request(transaction)));
  return parse_outcome(body);
}

Result<LeaseId> Client::grant(std::chrono::seconds ttl) {
  AQUA_ASSIGN(const std::string body, ask("lease/grant", grant_request(ttl.count())));
  return parse_grant(body);
}

Result<bool> Client::keep(LeaseId lease) {
  AQUA_ASSIGN(const std::string body, ask("lease/keepalive", lease_request(lease)));
  AQUA_ASSIGN(const std::int64_t left, parse_kept(body));
  return left > 0;
}

Result<void> Client::revoke(LeaseId lease) {
  AQUA_TRY(ask("lease/revoke", lease_request(lease)));
  return {};
}

}  // namespace aqua::coordinator::etcd
