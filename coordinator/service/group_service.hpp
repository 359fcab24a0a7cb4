// SPDX-License-Identifier: Apache-2.0
// GroupService is the book of groups with a lock, a store and watches: it serialises the callers
// and writes a change down before anybody hears of it, so that no term that was told is ever given
// to others by a later life of the coordinator (docs/internals/groups.md).
//
// Threads: every method may be called concurrently.
// Locks:   one, held across a commit and a question to the ledger's service, never the other way
//          round; never across a socket.
// A store that cannot be written: a change is taken back and refused with unavailable. A death is
// tried again with the next call of any kind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "coordinator/service/ledger_service.hpp"
#include "coordinator/store/store.hpp"
#include "groups/book.hpp"

namespace aqua::coordinator {

class GroupService {
 public:
  struct Options {
    std::size_t max_watches = 256;  // that wait at one time
    // As LedgerService's.
    std::function<void(const Error&)> on_fatal = [](const Error&) {};
  };
  // What happened since the start, and what is so now.
  struct Numbers {
    std::map<groups::State, std::uint64_t> groups;
    std::uint64_t members = 0;  // that have a rank
    std::uint64_t standbys = 0;
    std::uint64_t silent = 0;
    std::uint64_t terms = 0;       // begun because a rank lost its member
    std::uint64_t recoveries = 0;  // that ended with the group running
    std::uint64_t watches = 0;     // that wait
  };

  // `book` is what the store holds, with what restoring it has changed; `clients` outlives this.
  GroupService(std::shared_ptr<Store> store, groups::Book book, LedgerService& clients,
               Options options);
  // In memory, from nothing.
  explicit GroupService(LedgerService& clients);
  GroupService(const GroupService&) = delete;
  GroupService& operator=(const GroupService&) = delete;

  // Writes down what restoring has changed. Before the first call.
  [[nodiscard]] Result<void> begin();
  // Ends every watch with unavailable, now and later, and changes nothing more.
  void stop();

  // work(book), a Result<T>, alone with the book, which knows who is silent. Where it is accepted
  // it is written down before this returns; where that fails it is taken back, and unavailable.
  template <typename Work>
  auto change(Work&& work) -> decltype(work(std::declval<groups::Book&>())) {
    MutexLock lock(mu_);
    if (auto may = catch_up(); !may.ok()) return std::move(may).error();
    auto outcome = work(book_);
    if (auto written = write_down(); !written.ok()) return std::move(written).error();
    return outcome;
  }

  [[nodiscard]] std::vector<groups::Group> all();
  [[nodiscard]] Result<groups::Group> find(const groups::GroupId& id);
  // The group when its version is another than `after`, at once where `after` is nullopt; as it is
  // when `timeout` is over. not_found once it has ended. permission_denied for another user's
  // group, and once `in_session` is false (see LedgerService::watch). unavailable beyond
  // max_watches.
  [[nodiscard]] Result<groups::Group> watch(const groups::GroupId& id,
                                            std::optional<std::uint64_t> after,
                                            std::chrono::milliseconds timeout, std::uint32_t user,
                                            const std::function<bool()>& in_session);
  [[nodiscard]] Numbers numbers();

  // --- what the lifelines tell ---------------------------------------------------------------
  // Proven dead, or has left in order; the ledger knows it already.
  void gone(const ClientId& client);
  // Something that decides whether it is silent has happened: a session has ended, a sign of life.
  // Whether it is in any group.
  bool changed(const ClientId& client);

 private:
  // Deaths that could not be written, and who is silent now. Nothing of it is uncommitted after.
  [[nodiscard]] Result<void> catch_up() AQUA_REQUIRES(mu_);
  void hear() AQUA_REQUIRES(mu_);
  // Commits the book's changes or rolls them back; wakes the watches.
  [[nodiscard]] Result<void> write_down() AQUA_REQUIRES(mu_);
  void tell(const groups::GroupId& id) AQUA_REQUIRES(mu_);

  const std::shared_ptr<Store> store_;
  LedgerService& clients_;
  const Options options_;

  Mutex mu_;
  CondVar changed_;
  groups::Book book_ AQUA_GUARDED_BY(mu_);
  std::set<ClientId> gone_ AQUA_GUARDED_BY(mu_);  // not written down yet
  std::map<groups::GroupId, std::pair<groups::Term, groups::State>> told_ AQUA_GUARDED_BY(mu_);
  std::uint64_t terms_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t recoveries_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t watches_ AQUA_GUARDED_BY(mu_) = 0;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::coordinator
