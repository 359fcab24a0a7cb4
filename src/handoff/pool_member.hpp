// SPDX-License-Identifier: Apache-2.0
// PoolMember is a member's side of a KV pool without its memory: what it has (MemberBlocks), and
// what an engine must not wait for. MarkedWork waits for streams; what is complete then it passes
// to KeeperLink, which speaks to the keeper.
//
// Threads: every method may be called concurrently, but stop() and leave(), which are the last.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/stream_mark.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "handoff/keeper_link.hpp"
#include "handoff/last_refusal.hpp"
#include "handoff/marked_work.hpp"
#include "handoff/news.hpp"
#include "handoff/told_failures.hpp"
#include "keeper_client/pool_client.hpp"
#include "parcel/member_blocks.hpp"

namespace aqua {

class PoolMember {
 public:
  // What it has of the pool at first.
  struct Part {
    std::uint32_t blocks = 0;                               // in the whole pool
    std::uint32_t reserve = 0;                              // as KvPoolOptions::reserve
    std::shared_ptr<News> news = std::make_shared<News>();  // that wait() awaits
  };
  // `keeper` has joined the pool; `wake` is the event that came with that. Blocks for the keeper.
  // After an error the member has no blocks there, unless the keeper's answer was lost.
  [[nodiscard]] static Result<std::unique_ptr<PoolMember>> start(PoolClient keeper, UniqueFd wake,
                                                                 const Part& part);
  ~PoolMember() { stop(); }
  PoolMember(const PoolMember&) = delete;
  PoolMember& operator=(const PoolMember&) = delete;

  // As KvPool's. A mark is of the work that is to end first.
  [[nodiscard]] Result<Blocks> allocate(std::size_t count);
  [[nodiscard]] Result<void> release(BlockList blocks, StreamMark mark);
  [[nodiscard]] Result<void> share(BlockList blocks);
  [[nodiscard]] Result<void> hand_over(Parcel parcel, const std::string& role, StreamMark mark);
  [[nodiscard]] std::vector<Undelivered> undelivered();
  // As Carrier's.
  // One that needs room at its taker is reserved until there is.
  [[nodiscard]] Result<std::uint64_t> open(const ParcelHead& head, const std::string& role,
                                           bool needs_room = false);
  [[nodiscard]] Result<ParcelState> state(std::uint64_t number) const;
  // not_found: this member gives no such parcel; failed_precondition: close() was called.
  [[nodiscard]] Result<void> check_open(const char* call, std::uint64_t number) const;
  [[nodiscard]] Result<void> close(std::uint64_t number, Parcel parcel, StreamMark mark);
  [[nodiscard]] Result<void> recall(std::uint64_t number);
  [[nodiscard]] std::vector<Delivery> deliveries();
  [[nodiscard]] Result<void> confirm(std::uint64_t number);
  [[nodiscard]] std::vector<std::uint64_t> superseded();
  [[nodiscard]] std::vector<ParcelHead> cut_off();
  [[nodiscard]] Result<void> admit(const std::string& from, std::uint32_t parcels);
  // The number by which the keeper knows a parcel that is open. Errors: as check_open();
  // failed_precondition also while it is reserved.
  [[nodiscard]] Result<std::uint64_t> keepers_number(const char* call, std::uint64_t number) const;
  // not_found: no such parcel is this member's.
  [[nodiscard]] Result<void> check_taken(const char* call, std::uint64_t number) const;
  // Whether a parcel that accept() has told of has ended by another one of its id, which this
  // member has closed. Before: it was not finished.
  [[nodiscard]] bool is_continued(const Parcel& taken) const;
  [[nodiscard]] std::vector<Parcel> accept(std::size_t most);
  // `what` its giver is told.
  [[nodiscard]] Result<void> finish(std::uint64_t number, StreamMark mark,
                                    ParcelEvent what = ParcelEvent::confirmed);
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) { return news_->wait(patience); }
  [[nodiscard]] KvPoolStatus status() const;

  // Does what was asked for so far, and ends the threads.
  void stop();
  // Tells the keeper that the pool is unmapped, after stop().
  void leave();

 private:
  using HandedOver = MemberBlocks::HandedOver;
  using Released = MemberBlocks::Released;
  // What is to be done once a mark is reached.
  struct Pending {
    std::variant<Released, HandedOver, pool_wire::Finish> work;
    std::uint64_t told = 0;  // as told_.now() when it was posted
  };
  // Parcels that this member gives, by the numbers of open().
  struct Opening {
    std::uint64_t given = 0;
  };
  struct Recalling {
    std::uint64_t given = 0;
  };
  struct Given {
    ParcelHead head{};
    std::string role{};
    bool needs_room = false;
    std::uint64_t at_keeper = 0;         // its number there; 0: it has not heard of it
    bool open = false;                   // there is room for it
    std::optional<HandedOver> closed{};  // from close() on
    bool sent = false;                   // the keeper was asked to close it
    bool kept = false;                   // and has done so
    bool giving = true;                  // it counts in giving_
    std::optional<Error> refused{};      // when it was opened, and close() is on its way
  };
  // What the keeper is to be asked.
  using Ask = std::variant<HandedOver, Opening, Recalling, pool_wire::PoolRequest>;

  PoolMember(PoolClient keeper, std::unique_ptr<KeeperLink> link, const Part& part);
  // Takes the reserve, and starts the link.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> check_connected() const AQUA_REQUIRES(mu_);
  // What was accepted of its id is on its way with it, until it has got there (arrived()) or is had
  // back as before.
  [[nodiscard]] Result<HandedOver> give_away(Parcel parcel, const std::string& role)
      AQUA_REQUIRES(mu_);
  void arrived(const HandedOver& handed) AQUA_REQUIRES(mu_);
  void undo(const HandedOver& handed) AQUA_REQUIRES(mu_);
  // The parcel that is given and not closed.
  [[nodiscard]] Result<const Given*> find_open(const char* call, std::uint64_t number) const
      AQUA_REQUIRES(mu_);
  void post(StreamMark mark, std::variant<Released, HandedOver, pool_wire::Finish> work)
      AQUA_REQUIRES(mu_);
  // From now on it is asked, after what was posted before.
  void post(Ask ask) AQUA_REQUIRES(mu_);
  // A request about blocks, in as many packets as it takes.
  template <typename Request>
  void post_about(BlockList blocks) AQUA_REQUIRES(mu_);

  void reached(Pending pending, const StreamMark& mark, const Result<void>& outcome)
      AQUA_EXCLUDES(mu_);
  // KeeperLink's.
  [[nodiscard]] KeeperLink::Turn turn(bool ending) AQUA_EXCLUDES(mu_);
  void woken() AQUA_EXCLUDES(mu_);
  // What is to be asked next; nothing: there is none now. `ending`: only what was posted.
  [[nodiscard]] std::optional<Ask> next(bool ending) AQUA_REQUIRES(mu_);
  void ask(const HandedOver& handed) AQUA_EXCLUDES(mu_);
  void ask(const Opening& opening) AQUA_EXCLUDES(mu_);
  void ask(const Recalling& recalling) AQUA_EXCLUDES(mu_);
  void hear(const ParcelNews& told) AQUA_REQUIRES(mu_);
  void lose(std::uint64_t number) AQUA_REQUIRES(mu_);
  // The last that is heard of a parcel that was given.
  void deliver(std::uint64_t given, Delivery::Outcome outcome, Error error = {}) AQUA_REQUIRES(mu_);
  // Has back what close() gave away, where the keeper was not asked for that yet. Whether it has.
  [[nodiscard]] bool take_back(std::uint64_t given) AQUA_REQUIRES(mu_);
  void ask(const pool_wire::PoolRequest& request) AQUA_EXCLUDES(mu_);
  [[nodiscard]] Result<PoolClient::Answer> call(const pool_wire::PoolRequest& request)
      AQUA_EXCLUDES(mu_);
  void failed(const HandedOver& handed, const Error& error, bool in_doubt) AQUA_REQUIRES(mu_);
  // A parcel of this id is on its way to the keeper, or is opened; and is no more. Meanwhile none
  // of the id is accepted: by closing it the keeper ends what this member has taken of it.
  void begin_giving(const std::string& id) AQUA_REQUIRES(mu_) { giving_.insert(id); }
  void end_giving(const std::string& id) AQUA_REQUIRES(mu_) { giving_.erase(giving_.find(id)); }
  void end_giving(Given& given) AQUA_REQUIRES(mu_) {
    if (std::exchange(given.giving, false)) end_giving(given.head.id);
  }
  // A parcel that was accepted and of which nobody was told has ended: what room it used up is
  // free.
  void admit_again(const Parcel& parcel) AQUA_REQUIRES(mu_);
  void disconnect(const std::string& why) AQUA_REQUIRES(mu_);

  PoolClient keeper_;  // the link's, until that has ended
  const std::unique_ptr<KeeperLink> link_;
  const std::size_t reserve_;
  const std::shared_ptr<News> news_;

  mutable Mutex mu_;
  MemberBlocks mine_ AQUA_GUARDED_BY(mu_);
  std::deque<Ask> due_ AQUA_GUARDED_BY(mu_);
  std::deque<Parcel> ready_ AQUA_GUARDED_BY(mu_);
  std::multiset<std::string> giving_ AQUA_GUARDED_BY(mu_);  // ids
  std::vector<Undelivered> undelivered_ AQUA_GUARDED_BY(mu_);
  ToldFailures told_ AQUA_GUARDED_BY(mu_);
  // That undelivered_ and deliveries_ are about.
  ToldFailures::Numbers undelivered_failures_ AQUA_GUARDED_BY(mu_), delivery_failures_
      AQUA_GUARDED_BY(mu_);
  std::map<std::uint64_t, Given> given_ AQUA_GUARDED_BY(mu_);
  std::uint64_t last_given_ AQUA_GUARDED_BY(mu_) = 0;
  std::vector<Delivery> deliveries_ AQUA_GUARDED_BY(mu_);
  std::vector<std::uint64_t> superseded_ AQUA_GUARDED_BY(mu_);
  // Parcels that were accepted and are on their way with one that continues them: whether a higher
  // turn has been heard of meanwhile.
  std::map<std::uint64_t, bool> continued_ AQUA_GUARDED_BY(mu_);
  std::deque<ParcelHead> cut_off_ AQUA_GUARDED_BY(mu_);
  std::size_t wanted_ AQUA_GUARDED_BY(mu_) = 0;  // parcels at hand
  std::size_t wanted_blocks_ AQUA_GUARDED_BY(mu_) =
      0;                                        // that allocate() was last asked for in vain
  bool may_wait_ AQUA_GUARDED_BY(mu_) = true;   // parcels may wait at the keeper
  bool may_hear_ AQUA_GUARDED_BY(mu_) = false;  // the keeper may have news
  bool starved_ AQUA_GUARDED_BY(mu_) = false;   // the keeper had no more blocks, until it wakes us
  std::uint32_t waiting_ AQUA_GUARDED_BY(mu_) = 0;
  bool connected_ AQUA_GUARDED_BY(mu_) = true;
  LastRefusal error_ AQUA_GUARDED_BY(mu_);
  MarkedWork<Pending> marked_;  // the last: what it calls uses the others
};

}  // namespace aqua
