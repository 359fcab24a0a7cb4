// SPDX-License-Identifier: Apache-2.0
#include "southbound/client.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "southbound/keeper.hpp"
#include "southbound/link.hpp"
#include "southbound/watcher.hpp"
#include "wire/clients.hpp"
#include "wire/limits.hpp"

namespace aqua::southbound {
namespace {

// send(batch) for each batch of `all`; stops at the first failure.
template <typename T, typename Send>
Result<void> in_batches(std::span<const T> all, Send send) {
  while (!all.empty()) {
    const std::size_t count = std::min(all.size(), wire::kMaxBatch);
    AQUA_TRY(send(std::vector<T>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count))));
    all = all.subspan(count);
  }
  return {};
}

// Appends the results of a batch that has as many elements.
template <typename T>
Result<void> append(std::vector<Result<T>>& to, std::vector<Result<T>> results,
                    std::size_t expected) {
  if (results.size() != expected) {
    return Error{Code::internal, concat("the coordinator answered ", results.size(), " of ",
                                        expected, " elements")};
  }
  std::move(results.begin(), results.end(), std::back_inserter(to));
  return {};
}

}  // namespace

class Client::Impl {
 public:
  Impl(std::unique_ptr<Link> opened, Listener& listener)
      : link(std::move(opened)), watcher_(std::in_place, *this->link, listener) {
    try {
      keeper_.emplace(*link);
    } catch (...) {  // there is no thread for it, and the watcher's ends only once the link closes
      link->close();
      throw;
    }
  }

  void close() {
    link->close();
    MutexLock lock(closing_);
    watcher_.reset();
    keeper_.reset();
  }

  const std::unique_ptr<Link> link;

 private:
  Mutex closing_;  // two threads may close at once; the second waits for the first
  std::optional<Watcher> watcher_ AQUA_GUARDED_BY(closing_);
  std::optional<Keeper> keeper_ AQUA_GUARDED_BY(closing_);
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Client>> Client::open(Options options, Listener& listener) {
  AQUA_ASSIGN(std::unique_ptr<Link> link, Link::open(std::move(options)));
  return with_threads("client", [&]() -> Result<std::unique_ptr<Client>> {
    return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(std::move(link), listener)));
  });
}

Client::~Client() {
  close();
  // A forked child has this object but not its threads; destroying those would hang, so
  // there it leaks.
  if (impl_->link->forked()) (void)impl_.release();
}

void Client::hurry() {
  if (!impl_->link->forked()) impl_->link->hurry();
}

void Client::close() {
  if (!impl_->link->forked()) impl_->close();
}

bool Client::connected() const {
  return !impl_->link->forked() && impl_->link->status().connected;
}

Status Client::status() const {
  if (!impl_->link->forked()) return impl_->link->status();
  Status status;
  status.last_error = "this process was forked from the one that has the session";
  return status;
}

Result<void> Client::offer(std::span<const ledger::OfferedSlab> slabs,
                           std::optional<std::uint64_t> session) {
  return in_batches(slabs, [&](std::vector<ledger::OfferedSlab> batch) -> Result<void> {
    AQUA_TRY((
        impl_->link->post<wire::Ack>("/v1/offers", wire::OfferRequest{std::move(batch)}, session)));
    return {};
  });
}

Result<void> Client::withdraw(std::span<const std::uint32_t> indexes) {
  return in_batches(indexes, [&](std::vector<std::uint32_t> batch) -> Result<void> {
    AQUA_TRY((impl_->link->post<wire::Ack>("/v1/offers/withdraw",
                                           wire::WithdrawRequest{std::move(batch)})));
    return {};
  });
}

Result<std::vector<Result<ledger::SlabState>>> Client::scrubbed(
    std::span<const wire::Scrub> slabs) {
  std::vector<Result<ledger::SlabState>> results;
  AQUA_TRY(in_batches(slabs, [&](std::vector<wire::Scrub> batch) -> Result<void> {
    const std::size_t count = batch.size();
    AQUA_ASSIGN(wire::ScrubbedReply reply,
                impl_->link->post<wire::ScrubbedReply>("/v1/offers/scrubbed",
                                                       wire::ScrubbedRequest{std::move(batch)}));
    return append(results, std::move(reply.results), count);
  }));
  return results;
}

Result<ledger::Ledger::ReclaimStart> Client::reclaim(std::uint64_t bytes,
                                                     std::chrono::milliseconds within,
                                                     std::string key) {
  AQUA_ASSIGN(wire::ReclaimReply reply,
              impl_->link->post_once<wire::ReclaimReply>(
                  "/v1/reclaims", wire::ReclaimRequest{bytes, within}, std::move(key)));
  return ledger::Ledger::ReclaimStart{std::move(reply.reclaim), std::move(reply.withdrawn)};
}

Result<ledger::Reclaim> Client::reclaim_status(std::uint64_t reclaim) {
  AQUA_ASSIGN(wire::ReclaimReply reply,
              impl_->link->call<wire::ReclaimReply>("GET", concat("/v1/reclaims/", reclaim)));
  return std::move(reply.reclaim);
}

Result<std::vector<ledger::Grant>> Client::lease(std::uint64_t bytes, std::uint64_t exit_bytes,
                                                 std::string key) {
  AQUA_ASSIGN(wire::LeaseReply reply,
              impl_->link->post_once<wire::LeaseReply>(
                  "/v1/leases", wire::LeaseRequest{bytes, exit_bytes}, std::move(key)));
  return std::move(reply.grants);
}

Result<std::vector<Result<void>>> Client::give_back(std::span<const wire::Return> leases) {
  std::vector<Result<void>> results;
  AQUA_TRY(in_batches(leases, [&](std::vector<wire::Return> batch) -> Result<void> {
    const std::size_t count = batch.size();
    AQUA_ASSIGN(wire::ReturnReply reply,
                impl_->link->post<wire::ReturnReply>("/v1/leases/return",
                                                     wire::ReturnRequest{std::move(batch)}));
    return append(results, std::move(reply.results), count);
  }));
  return results;
}

namespace {

std::string path_of(const groups::GroupId& group, std::string_view what) {
  return concat("/v1/groups/", to_string(group), "/", what);
}

Result<groups::Group> group_of(Result<wire::GroupReply> reply) {
  if (!reply.ok()) return std::move(reply).error();
  return std::move(reply->group);
}

}  // namespace

Result<groups::Group> Client::create_group(const wire::CreateGroupRequest& request) {
  return group_of(impl_->link->post<wire::GroupReply>("/v1/groups", request));
}

Result<groups::Group> Client::join_group(const groups::GroupId& group,
                                         const wire::JoinGroupRequest& request) {
  return group_of(impl_->link->post<wire::GroupReply>(path_of(group, "join").c_str(), request));
}

Result<groups::Group> Client::acknowledge_term(const groups::GroupId& group,
                                               const wire::AcknowledgeRequest& request) {
  return group_of(
      impl_->link->post<wire::GroupReply>(path_of(group, "acknowledge").c_str(), request));
}

Result<groups::Group> Client::group_resumed(const groups::GroupId& group, groups::Term term) {
  return group_of(impl_->link->post<wire::GroupReply>(path_of(group, "resumed").c_str(),
                                                      wire::ResumedRequest{term}));
}

Result<void> Client::leave_group(const groups::GroupId& group) {
  AQUA_TRY(impl_->link->call<wire::Ack>("POST", path_of(group, "leave")));
  return {};
}

Result<void> Client::close_group(const groups::GroupId& group) {
  AQUA_TRY(impl_->link->call<wire::Ack>("POST", path_of(group, "close")));
  return {};
}

Result<groups::Group> Client::watch_group(const groups::GroupId& group,
                                          std::optional<std::uint64_t> after,
                                          std::chrono::milliseconds timeout,
                                          const Interrupt* ends) {
  std::string target = path_of(group, concat("watch?timeout_ms=", timeout.count()));
  if (after) target += concat("&after=", *after);
  return group_of(impl_->link->wait<wire::GroupReply>(std::move(target), timeout, ends));
}

Result<wire::Snapshot> Client::snapshot() {
  return impl_->link->call<wire::Snapshot>("GET", "/v1/clients/self");
}

Result<wire::State> Client::state() {
  return impl_->link->call<wire::State>("GET", "/v1/state");
}

}  // namespace aqua::southbound
