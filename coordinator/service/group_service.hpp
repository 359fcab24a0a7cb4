// SPDX-License-Identifier: Apache-2.0
// GroupService is the book of groups with a lock, a store and watches: it serialises the callers
// and writes a change down before anybody hears of it, so that no term that was told is ever given
// to others by a later life of the coordinator, or by another (docs/internals/groups.md).
//
// Threads: every method may be called concurrently.
// Locks:   three. Whoever changes something has the turn, across a commit and a question to the
//          ledger's service, never the other way round; changes queue for it. The book that is told
//          has a lock of its own, for moments only.
// A store that cannot be written: a change is refused with unavailable. A death is tried again with
// the next call of any kind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "coordinator/common/thread_pool.hpp"
#include "coordinator/service/group_news.hpp"
#include "coordinator/service/group_store.hpp"
#include "coordinator/service/ledger_service.hpp"
#include "groups/book.hpp"

namespace aqua::coordinator {

class GroupService {
 public:
  struct Options {
    std::size_t max_watches = 256;  // that wait at one time
    // For groups that other servers share: this server's name, and what has sync() called soon, so
    // that a lifeline waits for no network. "": they are this server's alone.
    std::string server{};
    std::function<void()> sync_soon{};
    std::function<bool()> is_told{};  // whether the others know of this server now
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

  // `book` is what the store holds, with what restoring it has changed; of groups that are shared
  // it is empty, and nothing is changed or told before the first sync(). `clients` outlives this.
  GroupService(std::unique_ptr<GroupStore> store, groups::Book book, LedgerService& clients,
               Options options);
  // In memory, from nothing.
  explicit GroupService(LedgerService& clients);
  GroupService(const GroupService&) = delete;
  GroupService& operator=(const GroupService&) = delete;

  // Writes down what restoring has changed. Before the first call.
  [[nodiscard]] Result<void> begin();
  // Ends every watch with unavailable, now and later, and changes nothing more.
  void stop();

  // work(draft), a Result<T>, alone with a draft of the book, which knows who is silent. Where it
  // is accepted it is written down before this returns, or else refused with unavailable. It is
  // asked again where others have changed groups meanwhile, and changes nothing but the draft.
  template <typename Work>
  auto change(Work&& work) -> decltype(work(std::declval<groups::Book&>())) {
    const ThreadPool::Blocking blocking;
    MutexLock place(queue_);
    bool fresh = !is_shared();  // or refused perhaps for what others have changed since it was read
    for (int tries = 0; tries < kMostTries; ++tries) {
      MutexLock turn(turn_);
      auto is_told = write_all_news();
      if (!is_told.ok()) return std::move(is_told).error();
      if (!*is_told) {
        fresh = true;
        continue;
      }
      groups::Book draft = known();
      auto outcome = work(draft);
      auto written = write_down(std::move(draft), {});
      if (!written.ok()) return std::move(written).error();
      if (*written && (outcome.ok() || fresh)) return outcome;
      fresh = true;
      if (!*written) continue;
      auto read = refresh();
      if (!read.ok()) return later(read.error());
    }
    return overtaken();
  }
  // Synchronizes the groups that are shared: takes over what other servers have changed, and takes
  // the members of servers that are not `present` for gone. Their coordinators have not been heard
  // of for so long that they may be dead; if they are not, whoever has acknowledged a later term
  // refuses what they send. Writes once, and asks by sync_soon to be called again: there may be
  // more to write.
  [[nodiscard]] Result<void> sync(const std::set<std::string>& present);

  // Options::server, which callers of work() are of.
  [[nodiscard]] const std::string& server() const noexcept { return options_.server; }
  // As they are known: none before the first sync() of groups that are shared.
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
  // Whether a client of this server may be in a group, or have created one.
  [[nodiscard]] bool has_members();

  // --- what the lifelines tell ---------------------------------------------------------------
  // Proven dead, or has left in order; the ledger knows it already.
  void gone(const ClientId& client);
  // Something that decides whether it is silent has happened: a session has ended, a sign of life.
  // Whether it is in any group.
  bool changed(const ClientId& client);

 private:
  static constexpr int kMostTries = 16;
  static constexpr std::size_t kMostServersAtOnce = 64;  // of which a change compares the keys
  // What a call that writes what was heard has found.
  enum class Step : std::uint8_t { nothing, written, overtaken };
  [[nodiscard]] static Error overtaken();
  // As a caller hears it: whatever is wrong with what is written, it may ask again.
  [[nodiscard]] static Error later(const Error& why);

  // Why nothing may be changed now.
  [[nodiscard]] Result<void> may_change() const AQUA_REQUIRES(mu_);
  [[nodiscard]] groups::Book known() AQUA_REQUIRES(turn_);
  // What was heard of heard.server's clients, and of heard.absent, and is not written yet. Fills in
  // the rest of `heard`.
  [[nodiscard]] std::vector<GroupNews> unwritten_news(HeardOf& heard) AQUA_EXCLUDES(mu_);
  // Writes what was heard of this server's clients, and of servers that are absent, or a part of
  // it.
  [[nodiscard]] Result<Step> write_news(const std::set<std::string>& absent) AQUA_REQUIRES(turn_);
  // All of it, of this server's. False: others were before, whose book is told now.
  [[nodiscard]] Result<bool> write_all_news() AQUA_REQUIRES(turn_);
  // Commits the draft and tells it. False: as above.
  [[nodiscard]] Result<bool> write_down(groups::Book draft, const std::set<std::string>& absent)
      AQUA_REQUIRES(turn_);
  // Takes over what others have written.
  [[nodiscard]] Result<void> refresh() AQUA_REQUIRES(turn_);
  // Clients of a former life of this coordinator, which the ledger does not know, are gone.
  void forget_former_life() AQUA_REQUIRES(turn_);
  void publish(groups::Book book) AQUA_REQUIRES(turn_);
  void tell(const groups::GroupId& id) AQUA_REQUIRES(mu_);
  // Now, or by sync() soon where that waits for a network.
  void catch_up();
  // Before somebody reads. What is shared is as it was told last.
  void look() {
    if (!is_shared()) catch_up();
  }
  [[nodiscard]] bool is_shared() const { return !options_.server.empty(); }

  const std::unique_ptr<GroupStore> store_;
  LedgerService& clients_;
  const Options options_;

  Mutex queue_;  // of changes, so that sync() waits for one of them at most; taken before the turn
  Mutex turn_;
  bool behind_ AQUA_GUARDED_BY(turn_) = false;  // what was read last could not be taken over

  Mutex mu_;  // taken after the other
  CondVar changed_;
  groups::Book book_ AQUA_GUARDED_BY(mu_);        // as it is written
  bool known_ AQUA_GUARDED_BY(mu_);               // it has been read
  std::set<ClientId> gone_ AQUA_GUARDED_BY(mu_);  // not written down yet
  std::map<groups::GroupId, std::pair<groups::Term, groups::State>> told_ AQUA_GUARDED_BY(mu_);
  std::uint64_t terms_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t recoveries_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t watches_ AQUA_GUARDED_BY(mu_) = 0;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::coordinator
