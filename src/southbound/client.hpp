// SPDX-License-Identifier: Apache-2.0
// Client keeps one process in touch with the coordinator: a lifeline, a joined session,
// renewals, a watch for events, and the calls of the ledger.
//
// Threads: every method may be called from any thread, also from a Listener callback, except
//          that close() and the destructor must not be (they wait for it). Two threads of
//          its own: one connects and renews, and never runs foreign code; the other watches
//          and makes every callback, one at a time.
// Owns:    its threads and sockets. The Listener must outlive it.
// Locks:   none is held across the network or a callback.
// Fork:    a child has no session: descriptors close there, calls fail with
//          failed_precondition, and the destructor leaves the parent's session alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/events.hpp"
#include "wire/groups.hpp"
#include "wire/slabs.hpp"
#include "wire/state.hpp"

namespace aqua::southbound {

class Interrupt;

struct Options {
  std::string coordinator;  // "unix:PATH" or "HOST:PORT"
  // id must not be nil: a process keeps it for the life of its slabs. An empty server is
  // filled with the coordinator's boot id; pid is ignored.
  ledger::ClientInfo info;
  std::chrono::milliseconds backoff_min{10};  // first wait before connecting again
  std::chrono::milliseconds backoff_max{
      2000};  // waits double up to this, each drawn at random below it
  std::chrono::milliseconds call_timeout{5000};    // one call, connecting included
  std::chrono::milliseconds watch_timeout{30000};  // one long poll
};

struct Session {
  Epoch epoch;
  std::string server;  // boot id of the coordinator's machine
  ledger::Time client_ttl{};
  ledger::Time lease_ttl{};
  std::uint64_t number = 0;  // 1 for the first session of this Client, then 2 …
  bool new_epoch = true;     // the coordinator knows nothing: declare everything again
};

// Times in events, grants, snapshots and reclaims are this process's steady_clock, in
// milliseconds since its epoch.
class Listener {
 public:
  virtual ~Listener() = default;
  // A session is joined. Re-declare slabs and leases here, by calls; watching starts, and
  // connected() turns true, when this returns.
  virtual void on_connected(const Session& session) = 0;
  // Everything the coordinator knows of this client. Comes once after each on_connected,
  // after a gap in the events, and after a call whose reply was lost (so a grant that never
  // arrived is found here).
  virtual void on_snapshot(const wire::Snapshot& snapshot) = 0;
  // In order, each at most once in a session. An event older than a snapshot never follows it.
  virtual void on_events(std::span<const ledger::Event> events) = 0;
  // The session is over; the client is connecting again. Not called by close().
  virtual void on_disconnected(const Error& reason) = 0;
  // The first attempt to begin the first session failed; others follow until one succeeds. Once.
  virtual void on_unreachable(const Error& reason) = 0;
};

// For a request that is to be done once.
[[nodiscard]] inline std::string new_key() {
  return to_string(random_id<struct RequestKey>());
}

struct Status {
  bool connected = false;
  Epoch epoch;                 // of the newest session; nil before the first
  std::uint64_t sessions = 0;  // joined so far
  std::string last_error;      // why the newest attempt or session failed; "" when none did
  std::uint64_t calls = 0;     // made so far, answered or not; renewals and watching are none
};

class Client {
 public:
  // Returns at once, also while the coordinator is away.
  //   invalid_argument    a bad address, or a nil id
  //   resource_exhausted  no thread more can be started
  [[nodiscard]] static Result<std::unique_ptr<Client>> open(Options options, Listener& listener);
  // Like close().
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // For whoever is about to close it: from now on a call waits for its answer for at most a second,
  // one in progress included. Once one has waited in vain, later ones are sent and not waited for,
  // which makes them unavailable, and close() does not wait for the coordinator either.
  void hurry();
  // Leaves (where nothing is held any more; else the coordinator sees a suspect until this
  // process ends) and stops both threads. Prompt: waits for a callback in progress, and for
  // the coordinator at most a second. Calls in progress and later ones fail with cancelled.
  void close();

  // A session is joined and on_connected has returned.
  [[nodiscard]] bool connected() const;
  [[nodiscard]] Status status() const;

  // --- calls: block for at most call_timeout --------------------------------------------
  // unavailable: no session just now, or the reply was lost (the call may have happened; a
  // snapshot follows). internal of a reclaim or lease: it may have happened too, and the
  // coordinator had no memory for the reply; a snapshot follows. Other codes are the ledger's, see
  // ledger/ledger.hpp. Long lists are sent in batches of wire::kMaxBatch.

  // All or nothing in each batch; repeating an offer that agrees does no harm. With `session`:
  // in the session of this number, unavailable in any other.
  [[nodiscard]] Result<void> offer(std::span<const ledger::OfferedSlab> slabs,
                                   std::optional<std::uint64_t> session = {});
  [[nodiscard]] Result<void> withdraw(std::span<const std::uint32_t> indexes);
  // One result for each scrub, in order.
  [[nodiscard]] Result<std::vector<Result<ledger::SlabState>>> scrubbed(
      std::span<const wire::Scrub> slabs);
  // Where the reply is lost it may be asked for again, with the same arguments and `key`: it is
  // begun once, and answered as it was. Each reclaim has a key of its own.
  [[nodiscard]] Result<ledger::Ledger::ReclaimStart> reclaim(std::uint64_t bytes,
                                                             std::chrono::milliseconds within,
                                                             std::string key = new_key());
  [[nodiscard]] Result<ledger::Reclaim> reclaim_status(std::uint64_t reclaim);

  // Leases memory. The same holds of `key` as for a reclaim.
  [[nodiscard]] Result<std::vector<ledger::Grant>> lease(std::uint64_t bytes,
                                                         std::uint64_t exit_bytes,
                                                         std::string key = new_key());
  // One result for each return, in order.
  [[nodiscard]] Result<std::vector<Result<void>>> give_back(std::span<const wire::Return> leases);

  // --- groups (docs/internals/groups.md) --------------------------------------------------
  // Each answers with the group as it is then. Codes are the book's (groups/book.hpp), and
  // failed_precondition before the client has joined. All but create_group() without may_exist may
  // be repeated when the reply was lost.
  [[nodiscard]] Result<groups::Group> create_group(const wire::CreateGroupRequest& request);
  [[nodiscard]] Result<groups::Group> join_group(const groups::GroupId& group,
                                                 const wire::JoinGroupRequest& request);
  [[nodiscard]] Result<groups::Group> acknowledge_term(const groups::GroupId& group,
                                                       const wire::AcknowledgeRequest& request);
  [[nodiscard]] Result<groups::Group> group_resumed(const groups::GroupId& group,
                                                    groups::Term term);
  [[nodiscard]] Result<void> leave_group(const groups::GroupId& group);
  [[nodiscard]] Result<void> close_group(const groups::GroupId& group);
  // Waits, for at most `timeout` beside call_timeout, until the group's version is another than
  // `after`; nullopt: does not wait. Versions are of one coordinator's life: after a new epoch ask
  // without one. not_found once the group has ended. cancelled when `ends` is raised; close() does
  // not end a call that has one.
  [[nodiscard]] Result<groups::Group> watch_group(const groups::GroupId& group,
                                                  std::optional<std::uint64_t> after,
                                                  std::chrono::milliseconds timeout,
                                                  const Interrupt* ends = nullptr);

  // This client's own slabs and leases; everybody's, without secrets.
  [[nodiscard]] Result<wire::Snapshot> snapshot();
  [[nodiscard]] Result<wire::State> state();

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::southbound
