// SPDX-License-Identifier: Apache-2.0
// SegmentMember is a process's side of the keeper's segments: which it has mapped, and what an
// engine must not wait for. MarkedWork waits for streams; what is complete then it passes to
// KeeperLink, which speaks to the keeper, maps and unmaps.
//
//   ready --take()--> taken --commit()--> committing --> kept --> ready, when it has come back
//     ^                 '--release()--> ending --.
//     '------------------------------------------'
//
// Threads: every method may be called concurrently, but stop() and leave(), which are the last.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "aqua/host_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/stream_mark.hpp"
#include "base/mutex.hpp"
#include "handoff/keeper_link.hpp"
#include "handoff/last_refusal.hpp"
#include "handoff/marked_work.hpp"
#include "handoff/news.hpp"
#include "handoff/told_failures.hpp"
#include "keeper_client/segment_client.hpp"

namespace aqua {

class SegmentMember {
 public:
  using Memory = std::shared_ptr<HostMemory>;

  // Who else is to hear of it.
  struct Listeners {
    std::shared_ptr<News> news = std::make_shared<News>();  // that wait() awaits
    // Called by a thread of the member's, which has no lock then, when something was committed.
    std::function<void()> committed = [] {};
  };
  // Joins the keeper. Errors: Segments::open()'s. The runtime outlives it.
  [[nodiscard]] static Result<std::unique_ptr<SegmentMember>> open(Runtime& runtime,
                                                                   const SegmentsOptions& options,
                                                                   Listeners listeners);
  ~SegmentMember() { stop(); }
  SegmentMember(const SegmentMember&) = delete;
  SegmentMember& operator=(const SegmentMember&) = delete;

  // As Segments'. A mark is of the work that is to end first.
  [[nodiscard]] Result<Segment> take(std::size_t bytes);
  [[nodiscard]] Result<Memory> taken(std::uint64_t number) const;
  [[nodiscard]] Result<void> release(std::uint64_t number, StreamMark mark);
  // A point in a stream behind which something was gathered, of which told_now() was `told` then.
  struct Gathered {
    StreamMark mark;
    std::uint64_t told = 0;
  };
  [[nodiscard]] std::uint64_t told_now() const;
  // For a parcel, by the keeper's number; 0: for none. `gathered`: also behind these.
  [[nodiscard]] Result<void> commit(std::uint64_t number, std::size_t bytes, StreamMark mark,
                                    std::uint64_t parcel = 0, std::vector<Gathered> gathered = {});
  [[nodiscard]] std::vector<CommittedSegment> committed();
  // Those of them that did not fail, of which committed() does not tell any more.
  [[nodiscard]] std::vector<SegmentName> well_committed();
  [[nodiscard]] Result<void> read(const SegmentName& name);
  [[nodiscard]] std::vector<OpenedSegment> opened();
  struct Read {
    Memory memory;
    SegmentName name;
  };
  [[nodiscard]] Result<Read> opened(std::uint64_t number) const;
  [[nodiscard]] Result<void> close(std::uint64_t number, StreamMark mark, SegmentAfter after);
  [[nodiscard]] Result<void> drop(const SegmentName& name);
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) { return news_->wait(patience); }
  [[nodiscard]] SegmentsStatus status() const;

  // Does what was asked for so far, and ends the threads.
  void stop();
  // Unmaps all and tells the keeper, after stop().
  void leave();

 private:
  enum class State : std::uint8_t { ready, taken, ending, kept };
  struct Own {
    Memory memory;
    State state = State::ready;
  };
  struct Other {
    SegmentName name{};
    Memory memory{};  // null: it is being opened
    bool closing = false;
  };
  // What is to be done once a mark is reached.
  struct Release {
    std::uint64_t number = 0;
  };
  struct Commit {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    std::uint64_t parcel = 0;
    std::vector<Gathered> gathered{};
  };
  struct Close {
    std::uint64_t number = 0;
    SegmentAfter after = SegmentAfter::keep;
  };
  using Work = std::variant<Release, Commit, Close>;
  struct Pending {
    Work work;
    std::uint64_t told = 0;  // as told_.now() when it was posted
  };

  // `number`: the keeper's own, as SegmentsStatus::keeper.
  SegmentMember(Runtime& runtime, SegmentClient keeper, std::uint64_t number,
                std::unique_ptr<KeeperLink> link, const SegmentsOptions& options,
                Listeners listeners);
  [[nodiscard]] Result<void> check_connected() const AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<Own*> find_taken(const char* call, std::uint64_t number) AQUA_REQUIRES(mu_);
  void post(StreamMark mark, Work work) AQUA_REQUIRES(mu_);
  // From now on it is asked, after what was posted before.
  void post(const segment_wire::Request& request) AQUA_REQUIRES(mu_);
  // The smallest of those that are ready and large enough, of these the latest that came back: its
  // readers may still have it mapped. End of ready_: none is.
  [[nodiscard]] std::deque<std::uint64_t>::iterator fitting(std::size_t bytes) AQUA_REQUIRES(mu_);

  void reached(const Pending& pending, const StreamMark& mark, const Result<void>& outcome)
      AQUA_EXCLUDES(mu_);
  void reached(const Release& release) AQUA_EXCLUDES(mu_);
  void reached(const Commit& commit, std::uint64_t told, const StreamMark& mark,
               Result<void> outcome) AQUA_EXCLUDES(mu_);
  void reached(const Close& close, const Result<void>& outcome) AQUA_EXCLUDES(mu_);

  // segment_link.cpp
  void start_link();
  [[nodiscard]] KeeperLink::Turn turn(bool ending) AQUA_EXCLUDES(mu_);
  // What is to be asked next; nothing: there is none now. `ending`: only what was posted.
  [[nodiscard]] std::optional<segment_wire::Request> next(bool ending) AQUA_REQUIRES(mu_);
  void ask(const segment_wire::Request& request) AQUA_EXCLUDES(mu_);
  void ask(const segment_wire::Reserve& asked) AQUA_EXCLUDES(mu_);
  void ask(const segment_wire::Commit& asked) AQUA_EXCLUDES(mu_);
  void committed(std::uint64_t number, const Result<SegmentClient::Answer>& answer)
      AQUA_EXCLUDES(mu_);
  void ask(const segment_wire::Open& asked) AQUA_EXCLUDES(mu_);
  void ask(const segment_wire::Returned& asked) AQUA_EXCLUDES(mu_);
  template <typename Asked>
  void ask(const Asked& asked) AQUA_EXCLUDES(mu_);
  [[nodiscard]] Result<SegmentClient::Answer> call(
      const segment_wire::Request& request,
      std::chrono::milliseconds patience = KeeperLink::kWithoutEnd) AQUA_EXCLUDES(mu_);
  // Memory of an answer, mapped.
  [[nodiscard]] Result<Memory> map(const SegmentClient::Answer& answer, Access access);
  [[nodiscard]] Result<void> reserve_one(std::size_t bytes, std::chrono::milliseconds patience)
      AQUA_EXCLUDES(mu_);
  // As many as are to be ready, before start_link(). Where the keeper has no room, waits for what
  // is being freed: the segments of a process that this one replaces, say.
  [[nodiscard]] Result<void> reserve_first() AQUA_EXCLUDES(mu_);
  void disconnect(const std::string& why) AQUA_REQUIRES(mu_);

  Runtime& runtime_;
  SegmentClient keeper_;  // the link's, until that has ended
  const std::uint64_t keeper_number_;
  // The keeper signals it when segments have come back, or there is room.
  const std::unique_ptr<KeeperLink> link_;
  const SegmentsOptions options_;
  const std::shared_ptr<News> news_;
  const std::function<void()> tell_committed_;

  mutable Mutex mu_;
  std::map<std::uint64_t, Own> own_ AQUA_GUARDED_BY(mu_);
  std::deque<std::uint64_t> ready_ AQUA_GUARDED_BY(mu_);  // of own_, the longest ready first
  std::map<std::uint64_t, Other> others_ AQUA_GUARDED_BY(mu_);
  // Others' that were read, and stay mapped for when they are read again; the latest last.
  std::deque<std::pair<std::uint64_t, Memory>> spare_ AQUA_GUARDED_BY(mu_);
  std::vector<Memory> unmapped_ AQUA_GUARDED_BY(mu_);  // that the link thread lets go of
  std::deque<segment_wire::Request> due_ AQUA_GUARDED_BY(mu_);
  std::vector<CommittedSegment> committed_ AQUA_GUARDED_BY(mu_);
  // Failures of work on streams that committed() tells of, and those that it has told of.
  ToldFailures::Numbers failures_ AQUA_GUARDED_BY(mu_);
  ToldFailures told_ AQUA_GUARDED_BY(mu_);
  std::vector<OpenedSegment> opened_ AQUA_GUARDED_BY(mu_);
  std::size_t wanted_ AQUA_GUARDED_BY(mu_) = 0;  // bytes that take() was last asked for in vain
  bool starved_ AQUA_GUARDED_BY(mu_) = false;    // the keeper had no more, until we are asked again
  bool returned_ AQUA_GUARDED_BY(mu_) = false;   // segments have come back
  bool connected_ AQUA_GUARDED_BY(mu_) = true;
  LastRefusal error_ AQUA_GUARDED_BY(mu_);
  MarkedWork<Pending> marked_;  // the last: what it calls uses the others
};

}  // namespace aqua
