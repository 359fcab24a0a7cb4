// SPDX-License-Identifier: Apache-2.0
#include "coordinator/servers/server_directory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/servers/keys.hpp"

namespace aqua::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAfterFailure{1000};
constexpr milliseconds kBetweenRounds{100};

// As somebody else has called it.
std::string shown(std::string_view key) {
  constexpr std::size_t kMost = 200;
  return is_plain(key) ? std::string(key.substr(0, kMost)) : "(one that is not plain text)";
}

// Those of `servers` that `others` has not, but for this one. Both are in the order of their names,
// which etcd keeps.
std::vector<std::string> missing_in(const std::vector<wire::Server>& others,
                                    const std::vector<wire::Server>& servers,
                                    std::string_view self) {
  std::vector<wire::Server> missing;
  std::ranges::set_difference(servers, others, std::back_inserter(missing), {}, &wire::Server::name,
                              &wire::Server::name);
  std::vector<std::string> names;
  for (const wire::Server& server : missing)
    if (server.name != self) names.push_back(server.name);
  return names;
}

}  // namespace

ServerDirectory::ServerDirectory(ServerOptions options, Describe describe)
    : options_(std::move(options)),
      describe_(std::move(describe)),
      etcd_(options_.etcd.members.empty()
                ? nullptr
                : std::make_unique<etcd::Client>(options_.etcd, stop_.get_token())),
      known_(etcd_ == nullptr) {
  if (etcd_ == nullptr) return;
  const MutexLock lock(mu_);
  fault_ = Error{Code::cancelled, "etcd has not been asked yet"};
}

void ServerDirectory::begin(OnRound on_round) {
  if (etcd_ == nullptr) return;
  on_round_ = std::move(on_round);
  thread_ = std::thread([this] { run(); });
  follower_ = std::thread([this] { follow(); });
}

void ServerDirectory::wake() {
  const MutexLock lock(mu_);
  wanted_ = true;
  woken_.notify_all();
}

void ServerDirectory::stop(bool leaves) {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stop_asked_ = true;
    woken_.notify_all();
  }
  stop_.request_stop();
  thread_.join();
  follower_.join();
  if (!leaves || lease_ == 0) return;
  // By another client, which is not stopped.
  etcd::EtcdOptions once = options_.etcd;
  once.members = {etcd_->member()};
  once.timeout = std::chrono::seconds(1);
  if (auto left = etcd::Client(once, {}).revoke(lease_); !left.ok()) {
    log(LogLevel::warn, "other servers hear later that this one has stopped",
        {{"after_s", static_cast<std::uint64_t>(options_.ttl.count())},
         {"why", left.error().message}});
  }
}

void ServerDirectory::run() {
  for (;;) {
    note(round());
    const MutexLock lock(mu_);
    const auto now = Clock::now();
    const auto next = now + (again_ ? kAfterFailure : milliseconds(options_.ttl) / 3);
    // News of what this server itself has written come as well.
    const auto soonest = now + kBetweenRounds;
    while (!stop_asked_ && Clock::now() < soonest) (void)woken_.wait_until(mu_, soonest);
    while (!stop_asked_ && !wanted_ && Clock::now() < next) (void)woken_.wait_until(mu_, next);
    if (stop_asked_) return;
    wanted_ = false;
  }
}

// News only make rounds come sooner: what a network swallows of them does no harm. Where the stream
// ends, the round asks for what it may have missed, and finds a member of etcd that answers.
void ServerDirectory::follow() {
  for (;;) {
    etcd_->watch(kAllKeys, [this] { wake(); });
    wake();
    const MutexLock lock(mu_);
    const auto next = Clock::now() + kAfterFailure;
    while (!stop_asked_ && Clock::now() < next) (void)woken_.wait_until(mu_, next);
    if (stop_asked_) return;
  }
}

// What is told is looked for in what is read: another may have written it since, or taken it away.
Result<ServerDirectory::Seen> ServerDirectory::round() {
  const auto told = tell();
  AQUA_ASSIGN(const etcd::Rows rows, etcd_->range(kServerKeys));
  Seen seen;
  if (!told.ok()) seen.untold = told.error();
  std::set<std::string> names;
  for (const etcd::Row& row : rows.rows) {
    names.insert(row.key.substr(kServerKeys.size()));
    auto server = wire::decode<wire::Server>(row.value);
    if (server.ok() && row.key == server_key(server->name)) {
      seen.servers.push_back(*std::move(server));
    } else {
      seen.odd = Error{
          Code::data_loss,
          concat("etcd: key ", shown(row.key), " is not of a coordinator of this ",
                 "version: ", server.ok() ? "it names another server" : server.error().message)};
    }
  }
  const auto own = std::ranges::find(rows.rows, server_key(options_.name), &etcd::Row::key);
  const bool is_told = told.ok() && own != rows.rows.end() && own->modified == *ours_;
  {
    const MutexLock lock(mu_);
    told_now_ = is_told;
  }
  if (is_told) {
    if (const auto done = on_round_(names); !done.ok()) {
      seen.odd = done.error();
      seen.is_done = false;
    }
  } else if (told.ok()) {
    ours_.reset();
    wake();
    const bool written_over = own != rows.rows.end();
    seen.untold =
        Error{Code::aborted,
              concat("etcd: what this server had told ",
                     written_over ? "was written over: does another coordinator run with a copy of "
                                    "this data directory? Remove the file \"server\" of one of them"
                                  : "is gone")};
  }
  return seen;
}

Result<void> ServerDirectory::hold_lease() {
  if (lease_ != 0) {
    AQUA_ASSIGN(const bool kept, etcd_->keep(lease_));
    if (kept) return {};
    log(LogLevel::warn, "other servers took this one for gone: its lease had run out", {});
    lease_ = 0;
  }
  ours_.reset();
  AQUA_ASSIGN(lease_, etcd_->grant(options_.ttl));
  return {};
}

Result<etcd::Row> ServerDirectory::claim() {
  const std::string key = server_key(options_.name);
  AQUA_ASSIGN(const etcd::Rows rows, etcd_->range(key));
  const auto known = std::ranges::find(rows.rows, key, &etcd::Row::key);
  if (known == rows.rows.end()) return etcd::Row{.key = key, .value = {}};
  const auto theirs = wire::decode<wire::Server>(known->value);
  const wire::Server ours = describe_();
  if (theirs.ok() && theirs->owner == ours.owner && theirs->host == ours.host) return *known;
  return Error{Code::already_exists,
               concat("another coordinator is server \"", options_.name, "\"",
                      theirs.ok() ? concat(", on host ", theirs->host) : std::string(),
                      ": give one of them another --server. If it is a former one of here, of "
                      "another data directory, it is gone in ",
                      options_.ttl.count(), " s")};
}

// Twice, since the answer to a write may have been lost, and the write not.
Result<void> ServerDirectory::tell() {
  AQUA_TRY(hold_lease());
  const std::string value = wire::encode(describe_());
  const std::string key = server_key(options_.name);
  for (int tries = 0; tries < 2; ++tries) {
    // Figures change all the time, and each that is told is news to all: they have their pace.
    if (ours_ && (value == told_ || Clock::now() < next_figures_)) return {};
    if (!ours_) {
      AQUA_ASSIGN(const etcd::Row known, claim());
      ours_ = known.modified;
    }
    const auto outcome = etcd_->commit({.when = {{key, *ours_}}, .puts = {{key, value, lease_}}});
    if (outcome.ok() && outcome->done) {
      ours_ = outcome->revision;
      told_ = value;
      next_figures_ = Clock::now() + milliseconds(options_.ttl) / 3;
      return {};
    }
    ours_.reset();
    if (!outcome.ok()) return outcome.error();
  }
  return Error{Code::aborted, concat("server \"", options_.name, "\" is changed by another")};
}

void ServerDirectory::note(Result<Seen> outcome) {
  if (!outcome.ok() && outcome.error().code == Code::cancelled) return;
  std::optional<Error> before;
  std::optional<Error> now;
  std::uint64_t servers = 0;
  std::vector<std::string> come, gone;
  {
    const MutexLock lock(mu_);
    known_ = outcome.ok() && !outcome->untold;
    if (!known_) ++failures_;
    again_ = !known_ || !outcome->is_done;
    if (outcome.ok()) {
      come = missing_in(servers_, outcome->servers, options_.name);
      gone = missing_in(outcome->servers, servers_, options_.name);
      servers_ = std::move(outcome->servers);
      read_at_ = Clock::now();
      now = outcome->untold ? std::move(outcome->untold) : std::move(outcome->odd);
    } else {
      now = std::move(outcome).error();
    }
    servers = servers_.size();
    before = std::exchange(fault_, now);
  }
  for (const std::string& name : come)
    log(LogLevel::info, "a server is listed", {{"server", name}});
  for (const std::string& name : gone)
    log(LogLevel::warn, "a server is not listed any more", {{"server", name}});
  // A fault is logged when its code changes, not each time: messages have times in them.
  if (now && (!before || before->code != now->code)) {
    log(LogLevel::warn, "servers may not be known as they are", {{"why", now->message}});
  } else if (!now && before) {
    log(LogLevel::info, "servers are known", {{"servers", servers}});
  }
}

wire::Servers ServerDirectory::all() const {
  wire::Servers all{.self = options_.name, .shared = etcd_ != nullptr};
  if (all.shared) {
    const MutexLock lock(mu_);
    all.fault = fault_ ? fault_->message : "";
    if (read_at_) all.age = std::chrono::duration_cast<ledger::Time>(Clock::now() - *read_at_);
    all.servers = servers_;
  }
  if (std::ranges::find(all.servers, options_.name, &wire::Server::name) == all.servers.end())
    all.servers.push_back(describe_());
  return all;
}

ServerDirectory::Numbers ServerDirectory::numbers() const {
  const MutexLock lock(mu_);
  return {.servers = std::max<std::uint64_t>(servers_.size(), 1),
          .failures = failures_,
          .known = known_};
}

bool ServerDirectory::is_told() const {
  const MutexLock lock(mu_);
  return told_now_;
}

std::optional<Error> ServerDirectory::fault() const {
  const MutexLock lock(mu_);
  return fault_;
}

}  // namespace aqua::coordinator
