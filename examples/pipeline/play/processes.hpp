// SPDX-License-Identifier: Apache-2.0
// Processes are those of one pipeline, as the orchestrator has them. Who has which rank, and in
// which term, the pipeline's group at the coordinator says, and the orchestrator hears of it. It
// starts a process for each that has died, which stands by until the group gives it a rank, and
// kills whom the coordinator has not heard of for long (Options::ttl_ms): who is stopped is alive,
// and keeps its rank until then. Whatever it waits for, it looks after the daemons meanwhile.
//
// Threads: one, which lives as long as the processes. Errors: Failure, which names who ended by an
//          error of its own.
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "child_process.hpp"
#include "options.hpp"
#include "play/daemons.hpp"
#include "play/group_watch.hpp"
#include "serve/resuming.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

class Processes {
 public:
  // Starts all of them; returns once they are connected with each other. Their sockets lie in
  // `directory`, or in folders of the hosts that they are on. The daemons outlive it.
  // With options.flip the first stage's first process flips a byte of the KV that it has computed,
  // so that a test can see that the answers differ then.
  Processes(const std::string& name, const PipelineShape& shape, const Options& options,
            const std::filesystem::path& directory, Daemons& daemons);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const PipelineShape& shape() const { return shape_; }
  // To each rank of the first stage. Of one that has died broken() tells.
  void order(Order order);
  // What poll() is to look at: deaths, news of the group, and what the last stage says.
  void watch(std::vector<pollfd>& into) const;
  // What the last stage has said by now.
  [[nodiscard]] std::vector<Sampled> take();

  // Whether the term is over: a process that has a rank in it was killed, or the group has begun
  // another one. Kills whom nobody has heard of for long, which count as killed from a later call
  // on. Where one that stood by was killed, another one stands by.
  [[nodiscard]] bool broken();
  // Returns once the group has given each rank to a process in a newer term, and all of these have
  // left what they did, and listen. Returns what the last stage had said before.
  [[nodiscard]] std::vector<Sampled> next_term();
  // Then: what each stage has of these sequences, the least of its ranks counting. None: this term
  // is over, too, and it is all to be done again.
  // `copies` is added to what they have measured.
  [[nodiscard]] std::optional<std::vector<std::vector<Mark>>> survey(
      const std::vector<KnownSequence>& sequences, MeasuredCopies& copies);
  // Then: all connect, and go on from there with these sequences alone; all others below `begun`
  // have ended. Returns once the group runs. False: likewise.
  [[nodiscard]] bool connect(const std::vector<Resume>& sequences, Word begun);
  // By stage: whether one of its ranks has another process than when all were last connected.
  [[nodiscard]] const std::vector<bool>& lost() const { return lost_; }
  // Since this was last asked: when the first process that had a rank was killed here, or was seen
  // to have ended, which this process hears as its parent; when the group was heard to have begun
  // another term; and when all were connected.
  struct Times {
    std::optional<std::chrono::steady_clock::time_point> died{}, noticed{}, connected{};
  };
  [[nodiscard]] Times take_times() { return std::exchange(times_, {}); }
  [[nodiscard]] unsigned deaths() const { return deaths_; }  // so far
  // Processes that were killed since nobody had heard of them for long.
  [[nodiscard]] unsigned silent() const { return static_cast<unsigned>(silent_.size()); }
  [[nodiscard]] Word term() const { return term_; }

  void signal(unsigned stage, unsigned rank, int number);
  void signal_standby(int number);
  // Kills all, whose successors are on another server: their sockets lie in that directory, and so
  // does that of the keeper beside them.
  void lose_server(const std::filesystem::path& next);
  // That host is about to be lost, with the processes on it.
  void loses_host(unsigned host);
  // Lets the processes end, and sees that they do so in peace, but for those that are killed, and
  // those that are cut off, which it kills. Whether none was, and left what it had with the keeper.
  bool finish();

 private:
  // A process, and what it has said that nobody has taken yet. It may be in a newer term than the
  // orchestrator has heard of.
  struct Process {
    void read();
    example::ChildProcess child;
    unsigned host = 0;  // that it runs on, where there are several
    std::vector<Sampled> tokens{};
    std::deque<nlohmann::json> words{};
  };

  // nullptr: it has died.
  [[nodiscard]] Process* seated(std::size_t seat);
  [[nodiscard]] std::size_t last() const { return seats_.size() - shape_.ranks; }
  void look();
  // Throws Failure for who has ended by itself, except on a host that is lost.
  [[nodiscard]] bool was_killed(Process& process) const;
  void bury_and_replace(const GroupNews& news, std::vector<Sampled>& said);
  // One that had a rank has ended.
  void lost_a_rank();
  // Forgets one that was killed. Returns the next.
  std::map<std::string, Process>::iterator bury(std::map<std::string, Process>::iterator dead);
  void keep_a_standby();
  // On a host that is lost: it may live on, where that was cut off, and is of no use.
  [[nodiscard]] bool is_cut_off(const Process& process) const;
  // Those that are of use.
  [[nodiscard]] std::size_t at_hand() const;
  [[nodiscard]] bool adopts(const GroupNews& news);
  void wait_for_news(int also = -1);
  void tell(std::size_t seat, const nlohmann::json& message);
  // The next thing that the process says of this kind (a word that is in it) in this term. None:
  // the term is over meanwhile.
  [[nodiscard]] std::optional<nlohmann::json> hear(std::size_t seat, const char* kind);
  // Until all have said, in this term, that they listen, or that they are connected. False: the
  // term is over meanwhile.
  [[nodiscard]] bool await_all(bool connected);
  [[nodiscard]] bool await_running();
  // Tells the hosts who is where.
  void tell_hosts();
  // At that place, or standing by.
  void start(const std::optional<Place>& place);

  const std::string name_;
  const PipelineShape shape_;
  const Options options_;
  std::filesystem::path directory_;
  Daemons& daemons_;
  GroupWatch group_;
  std::map<std::string, Process> processes_{};  // by name in the group
  std::map<std::string, Place> asked_{};        // who has asked for a rank
  unsigned started_ = 0;
  Word term_ = 0;
  bool runs_ = false;                     // the term is one that nobody acknowledges
  std::vector<std::string> seats_{};      // in the term, by stage, then by rank
  std::vector<std::string> addresses_{};  // where each listens
  std::vector<std::string> connected_{};  // as they last were when all were connected
  std::vector<bool> lost_;
  Times times_{};
  unsigned deaths_ = 0;
  std::set<std::string> silent_{};
  std::map<std::string, std::chrono::steady_clock::time_point> silent_since_{};
};

}  // namespace aqua::pipeline
