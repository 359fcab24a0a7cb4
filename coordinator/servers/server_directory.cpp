// SPDX-License-Identifier: Apache-2.0
#include "coordinator/servers/server_directory.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/common/log.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::string_view kPrefix = "/aqua/servers/";

std::string key_of(const std::string& name) {
  return concat(kPrefix, name);
}

}  // namespace

ServerDirectory::ServerDirectory(ServerOptions options, Describe describe)
    : options_(std::move(options)),
      describe_(std::move(describe)),
      etcd_(options_.etcd.members.empty()
                ? nullptr
                : std::make_unique<etcd::Client>(options_.etcd, stop_.get_token())),
      read_at_(Clock::now()) {
  if (etcd_ == nullptr) return;
  const MutexLock lock(mu_);
  fault_ = Error{Code::unavailable, "etcd has not been asked yet"};
}

void ServerDirectory::begin() {
  if (etcd_ != nullptr) thread_ = std::thread([this] { run(); });
}

void ServerDirectory::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stop_asked_ = true;
    stopped_.notify_all();
  }
  stop_.request_stop();
  thread_.join();
  if (lease_ == 0 || fault()) return;
  // By another client, which is not stopped.
  if (auto left = etcd::Client(options_.etcd, {}).revoke(lease_); !left.ok()) {
    log(LogLevel::warn, "other servers hear later that this one has stopped",
        {{"after_s", static_cast<std::uint64_t>(options_.ttl.count())},
         {"why", left.error().message}});
  }
}

void ServerDirectory::run() {
  for (;;) {
    note(round());
    const MutexLock lock(mu_);
    const auto next = Clock::now() + std::chrono::milliseconds(options_.ttl) / 3;
    while (!stop_asked_ && Clock::now() < next) (void)stopped_.wait_until(mu_, next);
    if (stop_asked_) return;
  }
}

Result<ServerDirectory::Seen> ServerDirectory::round() {
  AQUA_TRY(hold_lease());
  AQUA_TRY(tell());
  AQUA_ASSIGN(const etcd::Rows rows, etcd_->range(kPrefix));
  Seen seen;
  for (const etcd::Row& row : rows.rows) {
    auto server = wire::decode<wire::Server>(row.value);
    if (server.ok() && row.key == key_of(server->name)) {
      seen.servers.push_back(*std::move(server));
    } else {
      seen.odd = Error{Code::data_loss,
                       concat("etcd: key ", row.key, " is not of a coordinator of this version: ",
                              server.ok() ? "it names another server" : server.error().message)};
    }
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

// Which change of our key is the last, where it may be ours: 0 where there is no such key.
Result<etcd::Revision> ServerDirectory::claim() {
  const std::string key = key_of(options_.name);
  AQUA_ASSIGN(const etcd::Rows rows, etcd_->range(key));
  const auto known = std::ranges::find(rows.rows, key, &etcd::Row::key);
  if (known == rows.rows.end()) return etcd::Revision{0};
  const auto told = wire::decode<wire::Server>(known->value);
  if (told.ok() && told->owner == describe_().owner) return known->modified;
  return Error{Code::already_exists,
               concat("another coordinator is server \"", options_.name, "\"",
                      told.ok() ? concat(", on host ", told->host) : std::string(),
                      ": give one of them another --server")};
}

Result<void> ServerDirectory::tell() {
  std::string value = wire::encode(describe_());
  if (ours_ && value == told_) return {};
  if (!ours_) {
    AQUA_ASSIGN(ours_, claim());
  }
  const std::string key = key_of(options_.name);
  const auto outcome = etcd_->commit({.when = {{key, *ours_}}, .puts = {{key, value, lease_}}});
  if (!outcome.ok() || !outcome->done) {
    ours_.reset();  // it may have been done, or undone by another: looked at in the next round
    if (!outcome.ok()) return outcome.error();
    return Error{Code::aborted, concat("server \"", options_.name, "\" was changed by another")};
  }
  ours_ = outcome->revision;
  told_ = std::move(value);
  return {};
}

void ServerDirectory::note(Result<Seen> outcome) {
  const MutexLock lock(mu_);
  if (outcome.ok()) {
    servers_ = std::move(outcome->servers);
    read_at_ = Clock::now();
    note_fault(std::move(outcome->odd));
  } else if (outcome.error().code != Code::cancelled) {
    ++failures_;
    note_fault(std::move(outcome).error());
  }
}

void ServerDirectory::note_fault(std::optional<Error> fault) {
  if (fault && (!fault_ || fault_->message != fault->message)) {
    log(LogLevel::warn, "servers may not be known as they are", {{"why", fault->message}});
  } else if (!fault && fault_) {
    log(LogLevel::info, "servers are known", {{"servers", servers_.size()}});
  }
  fault_ = std::move(fault);
}

wire::Servers ServerDirectory::all() const {
  wire::Servers all{.self = options_.name, .shared = etcd_ != nullptr};
  if (!all.shared) {
    all.servers.push_back(describe_());
    return all;
  }
  const MutexLock lock(mu_);
  all.fault = fault_ ? fault_->message : "";
  all.age = std::chrono::duration_cast<ledger::Time>(Clock::now() - read_at_);
  all.servers = servers_;
  return all;
}

ServerDirectory::Numbers ServerDirectory::numbers() const {
  const MutexLock lock(mu_);
  return {.servers = etcd_ == nullptr ? 1 : servers_.size(), .failures = failures_, .up = !fault_};
}

std::optional<Error> ServerDirectory::fault() const {
  const MutexLock lock(mu_);
  return fault_;
}

}  // namespace aqua::coordinator
