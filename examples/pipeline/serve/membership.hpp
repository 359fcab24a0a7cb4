// SPDX-License-Identifier: Apache-2.0
// Membership is a process's part in its pipeline's group at the coordinator (aqua/groups.hpp): by
// it a process hears which rank it has, and in which term it acts.
//
// Threads: one; news come on a thread of the runtime's. Errors: Failure. A process whose part in
// the group ends, as when the group was ended by hand, ends with a word to stderr.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "aqua/groups.hpp"
#include "fd.hpp"
#include "options.hpp"
#include "serve/resuming.hpp"

namespace aqua::pipeline {

// Which group: that of the pipeline. The rest of the options is the caller's.
[[nodiscard]] GroupOptions group_of(const std::string& pipeline, const PipelineShape& shape,
                                    const ModelShape& model);
// The place of a rank in a pipeline, and back.
[[nodiscard]] GroupRank rank_of(const std::string& pipeline, unsigned stage, unsigned rank);

class Membership {
 public:
  // Asks for the rank of options.place, or stands by. The runtime outlives it.
  Membership(Runtime& runtime, const Options& options);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // A Rewire for each term in which this process has a rank and something to do, a line each.
  [[nodiscard]] int terms() const { return read_.get(); }
  [[nodiscard]] GroupNews news() const;
  // Nobody acts under an older term here any more, and this is what there is of these sequences.
  void acknowledge(Word term, const Survey& survey, const Surveyed& surveyed);
  // Waits until all have acknowledged the term. False: it is over. Failure where a sequence is to
  // go on from beyond what the members of the group have acknowledged; in a decode pipeline, to
  // which prompts may still be streamed, nobody looks.
  [[nodiscard]] bool await_plan(const Connect& connect);
  // This process has carried the plan out.
  void resumed(Word term);

 private:
  void hear(const GroupNews& news);

  const std::string pipeline_;
  example::Fd read_, write_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  GroupNews news_{};
  std::uint64_t told_ = 0;  // the newest term of which there was a line
  std::optional<GroupMember> member_{};
};

}  // namespace aqua::pipeline
