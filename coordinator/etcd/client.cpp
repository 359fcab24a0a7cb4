// SPDX-License-Identifier: Apache-2.0
#include "coordinator/etcd/client.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/tls/files.hpp"

namespace aqua::coordinator::etcd {
namespace {

constexpr std::size_t kMostPassword = 4096;
constexpr std::size_t kMostReply = std::size_t{128} << 20;  // all groups, with their marks
constexpr unsigned kLate = 2;  // questions in a row, from which on it is perhaps the token
// Then a stream of news is begun anew, so that one which a network swallowed, or which a member
// does not begin, comes to an end.
constexpr std::chrono::minutes kStream{5};

// Whether another member may answer what this one could not.
bool is_of_the_member(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::deadline_exceeded ||
         error.code == Code::failed_precondition;
}

}  // namespace

Result<std::string> read_password(const std::string& file) {
  AQUA_ASSIGN(const UniqueFd fd, tls::open_secret(file));
  AQUA_ASSIGN(const std::string text, read_file_of(fd.get(), file, kMostPassword));
  return text.substr(0, text.find('\n'));
}

Client::Client(EtcdOptions options, std::stop_token stop)
    : options_(std::move(options)), stop_(std::move(stop)) {}

std::string Client::member() const {
  const MutexLock lock(mu_);
  return options_.members.at(first_);
}

Result<std::string> Client::ask(std::string_view path, const std::string& body) {
  const std::size_t members = options_.members.size();
  const std::size_t first = [this] {
    const MutexLock lock(mu_);
    return first_;
  }();
  Error last{Code::unavailable, "etcd: no member is named"};
  std::string of_each;
  for (std::size_t tried = 0; tried < members; ++tried) {
    const std::size_t at = (first + tried) % members;
    const std::string& member = options_.members[at];
    const Deadline deadline = curl::Clock::now() + options_.timeout;
    auto answer = options_.user.empty() ? ask_with({}, member, path, body, deadline)
                                        : ask_as_user(member, path, body, deadline);
    if (answer.ok() || !is_of_the_member(answer.error())) {
      const MutexLock lock(mu_);
      first_ = at;
      return answer;
    }
    last = std::move(answer).error();
    of_each += concat(of_each.empty() ? "" : "; ", last.message);
  }
  if (last.code == Code::deadline_exceeded) last.code = Code::unavailable;
  if (members > 1) last.message = concat("no member of etcd can answer: ", of_each);
  return last;
}

Result<std::string> Client::ask_as_user(const std::string& member, std::string_view path,
                                        const std::string& body, Deadline deadline) {
  std::string token = [this] {
    const MutexLock lock(mu_);
    return token_;
  }();
  if (!token.empty()) {
    auto answer = ask_with(token, member, path, body, deadline);
    // A token ends some minutes after it was used last, or when users and roles are changed, of
    // which there are several refusals.
    const bool refused = !answer.ok() && (answer.error().code == Code::permission_denied ||
                                          answer.error().code == Code::internal);
    // A token names a change that etcd waits for before it looks at it. An etcd that has come back
    // with less waits without end. (A slow one is not to be asked for a token each time.)
    note_answer(token, !answer.ok() && answer.error().code == Code::deadline_exceeded);
    if (!refused) return answer;
  }
  AQUA_ASSIGN(token, new_token(member, deadline));
  return ask_with(token, member, path, body, deadline);
}

void Client::note_answer(const std::string& token, bool late) {
  const MutexLock lock(mu_);
  late_ = late ? late_ + 1 : 0;
  if (late_ < kLate || token_ != token) return;
  token_.clear();
  late_ = 0;
}

Result<std::string> Client::new_token(const std::string& member, Deadline deadline) {
  AQUA_ASSIGN(const std::string password, read_password(options_.password_file));
  auto body = ask_with({}, member, "auth/authenticate", password_request(options_.user, password),
                       deadline);
  if (body.ok()) {
    AQUA_ASSIGN(std::string token, parse_token(*body));
    const MutexLock lock(mu_);
    token_ = token;
    return token;
  }
  Error why = std::move(body).error();
  if (why.message.find("authentication is not enabled") != std::string::npos) {
    why.message += ": it has no users (docs/operate/servers.md, step 2)";
  } else if (!is_of_the_member(why)) {
    why.message +=
        concat(": --etcd-user ", options_.user, ", password in ", options_.password_file);
  }
  return why;
}

curl::Request Client::request_of(const std::string& token, const std::string& member,
                                 std::string_view path, const std::string& body,
                                 Deadline deadline) const {
  curl::Request request{.method = "POST",
                        .url = concat(member, "/v3/", path),
                        .headers = {"Content-Type: application/json"},
                        .body = body,
                        .authority = options_.authority,
                        .authority_from = "--etcd-authority",
                        .deadline = deadline,
                        .most_reply_bytes = kMostReply};
  if (!token.empty()) request.headers.push_back(concat("Authorization: ", token));
  return request;
}

Result<std::string> Client::ask_with(const std::string& token, const std::string& member,
                                     std::string_view path, const std::string& body,
                                     Deadline deadline) {
  curl::Outcome outcome = curl::call(request_of(token, member, path, body, deadline), stop_);
  if (!outcome.reply) return std::move(outcome.error);
  if (outcome.reply->status == 200) return std::move(outcome.reply->body);
  Error refused = parse_refusal(outcome.reply->status, outcome.reply->body);
  refused.message = concat(member, ": ", refused.message);
  return refused;
}

Result<Rows> Client::range(std::string_view prefix) {
  AQUA_ASSIGN(const std::string body, ask("kv/range", range_request(prefix)));
  AQUA_ASSIGN(Rows rows, parse_rows(body));
  const MutexLock lock(mu_);
  if (cluster_.empty()) cluster_ = rows.cluster;
  if (cluster_ == rows.cluster) return rows;
  return Error{Code::failed_precondition,
               concat("etcd: ", options_.members.at(first_), " is of another cluster than who ",
                      "answered before: its members were begun apart, or it was made anew, and "
                      "then this coordinator has to be started again")};
}

Result<Outcome> Client::commit(const Transaction& transaction) {
  AQUA_ASSIGN(const std::string body, ask("kv/txn", transaction_request(transaction)));
  return parse_outcome(body);
}

void Client::watch(std::string_view prefix, const std::function<void()>& on_change) {
  const std::string at = member();
  std::string token = [this] {
    const MutexLock lock(mu_);
    return token_;
  }();
  if (!options_.user.empty() && token.empty()) {
    auto made = new_token(at, curl::Clock::now() + options_.timeout);
    if (!made.ok()) return;
    token = *std::move(made);
  }
  bool cancelled = false;
  std::string line;  // as far as it has come
  // Each line tells of something; what, the rows say.
  const auto take = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t length = std::min(bytes.find('\n'), bytes.size());
      line += bytes.substr(0, length);
      if (line.size() > kMostReply) return false;
      if (length == bytes.size()) break;
      bytes.remove_prefix(length + 1);
      cancelled = is_cancelled_watch(line);
      if (cancelled) return false;
      on_change();
      line.clear();
    }
    return true;
  };
  const Deadline end = curl::Clock::now() + kStream;
  (void)curl::call(request_of(token, at, "watch", watch_request(prefix), end), stop_, take);
  if (!cancelled) return;
  // The token is perhaps unknown to this member, and then the next stream needs another.
  const MutexLock lock(mu_);
  if (token_ == token) token_.clear();
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
  const auto done = ask("lease/revoke", lease_request(lease));
  if (done.ok() || done.error().code == Code::not_found) return {};
  return done.error();
}

}  // namespace aqua::coordinator::etcd
