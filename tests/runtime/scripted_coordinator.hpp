// SPDX-License-Identifier: Apache-2.0
// A coordinator that says what a test wants it to say, and counts what it is asked: for moments
// that a real one passes through too quickly.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "groups/types.hpp"
#include "wire/events.hpp"

namespace aqua::test {

class ScriptedCoordinator {
 public:
  static constexpr int kNoAnswer = 0;
  struct Reply {
    int status = 200;  // kNoAnswer: the connection is closed instead
    std::string body;
  };
  // Answers "METHOD PATH"; none: as a coordinator would that has nothing to tell. On a thread of
  // its own for each request, so it may wait.
  using Script = std::function<std::optional<Reply>(const std::string& request)>;

  // Its sockets are in `directory`.
  ScriptedCoordinator(const std::string& directory, Script script);
  ~ScriptedCoordinator();
  ScriptedCoordinator(const ScriptedCoordinator&) = delete;
  ScriptedCoordinator& operator=(const ScriptedCoordinator&) = delete;

  [[nodiscard]] std::string address() const { return "unix:" + path_; }
  // How often this "METHOD PATH" has been asked.
  [[nodiscard]] int asked(const std::string& request) const;
  // The same, where a request that is repeated to the letter counts once.
  [[nodiscard]] int asked_anew(const std::string& request) const;
  // Waits until it has been asked so often; false when this object goes or 60 s are over.
  bool await(const std::string& request, int times) const;

  // An answer to "GET /v1/watch" or "GET /v1/clients/self".
  [[nodiscard]] static Reply watch(const wire::Snapshot& snapshot);
  [[nodiscard]] static Reply self(const wire::Snapshot& snapshot);
  // An answer to "POST /v1/reclaims".
  [[nodiscard]] static Reply reclaim(const ledger::Ledger::ReclaimStart& start);
  // An answer to "POST /v1/leases".
  [[nodiscard]] static Reply lease(std::vector<ledger::Grant> grants);
  // An answer to "POST /v1/groups" and to joining one.
  [[nodiscard]] static Reply group(const groups::Group& group);
  [[nodiscard]] static Reply not_found();
  // A refusal by somebody who may do better later.
  [[nodiscard]] static Reply unavailable();
  // A reply with status 500 to a request with a key: what was asked for may have been done.
  [[nodiscard]] static Reply without_reply();

 private:
  void accept_all();
  void accept_lifelines();
  void serve(UniqueFd connection);
  [[nodiscard]] Reply answer(const std::string& request);

  const std::string path_;
  const std::string lifeline_path_;
  const Script script_;
  UniqueFd listener_;
  UniqueFd lifelines_;
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::map<std::string, std::vector<std::string>> asked_ AQUA_GUARDED_BY(mu_);
  std::vector<std::thread> serving_;  // the accepting thread's, until that is joined
  std::thread accepting_;
  std::thread greeting_;
};

}  // namespace aqua::test
