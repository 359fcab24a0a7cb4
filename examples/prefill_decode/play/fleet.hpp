// SPDX-License-Identifier: Apache-2.0
// Fleet: the engines of one way to serve, as processes, and what comes of requests that are sent to
// them. Keeper: the daemon, with the model's weights loaded once.
//
// Threads: one, which lives as long as the processes. Errors: Failure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "child_process.hpp"
#include "play/workload.hpp"
#include "program_options.hpp"
#include "workplace.hpp"

namespace aqua::prefill_decode {

struct Outcome {
  Request request{};
  double sent = 0;   // when it was due
  double first = 0;  // when its first token was there
  std::optional<Answer> answer{};
};

using Outcomes = std::map<std::uint64_t, Outcome>;  // by the number of the request

// Tokens a second of prompts and answers, from the first request to the last token; all are
// answered.
[[nodiscard]] double tokens_per_second(const Outcomes& outcomes);

class Keeper {
 public:
  Keeper(const Options& options, const std::filesystem::path& model);
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }
  [[nodiscard]] pid_t pid() const { return daemon_.pid(); }

 private:
  example::PrivateDirectory directory_;
  example::ChildProcess daemon_;
};

// A process of this program in such a role.
[[nodiscard]] example::ChildProcess start(Options::Kind kind, const Options& options,
                                          const std::filesystem::path& model,
                                          const std::filesystem::path& directory);

class Fleet {
 public:
  // Prefill and decode, or both in one.
  Fleet(bool two, const Options& options, const std::filesystem::path& model,
        const std::filesystem::path& directory, const example::StopSignals& stop);

  // Sends each when it is due; returns once all are answered. By their numbers. Gives up where
  // nothing comes for ten minutes.
  [[nodiscard]] Outcomes serve(const std::vector<TimedRequest>& requests,
                               const std::function<void(std::size_t answered)>& on_answer = {});
  // Kills decode, and starts a successor.
  void replace_decode();
  [[nodiscard]] std::vector<pid_t> pids() const;
  // Lets the processes end, and sees that they do so in peace.
  void finish();

 private:
  void listen(double patience);
  // What a process has said by now.
  void take_in(example::ChildProcess& process);

  const Options& options_;
  const std::filesystem::path model_, directory_;
  const example::StopSignals& stop_;
  std::optional<example::ChildProcess> front_;   // prefill, or the one that is both
  std::optional<example::ChildProcess> decode_;  // none beside one that is both
  Outcomes outcomes_{};                          // of the requests that are being served
  std::size_t answered_ = 0;
  double last_news_ = 0;  // when a process last said something
};

}  // namespace aqua::prefill_decode
