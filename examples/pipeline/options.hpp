// SPDX-License-Identifier: Apache-2.0
// The command line of pipeline: what people give, and what the orchestrator gives to the processes
// that it starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/shape.hpp"
#include "serve/kv_cache.hpp"
#include "serve/named_step.hpp"
#include "serve/wiring.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::pipeline {

// The pool of a keeper's in which prompts are streamed.
inline constexpr const char* kStreams = "streams";
// Names of pipelines: one that does both phases, and those of one.
inline constexpr const char *kColocated = "colocated", *kPrefill = "prefill", *kDecode = "decode";
// The last stage's answers to a whole batch fit a pipe: it never waits for the orchestrator to read
// them, so that the others go on, and read what the orchestrator writes to them.
inline constexpr unsigned kMostBatch = 64;

inline constexpr const char* kKeeper = "keeper";            // may be killed or stopped, too
inline constexpr const char* kCoordinator = "coordinator";  // likewise
inline constexpr const char* kCourier = "courier";          // be killed: 0 is prefill's, 1 decode's
inline constexpr const char* kServer = "server";            // likewise, with all that runs on it
inline constexpr const char* kHost = "host";  // likewise: 0 to Options::hosts less one

// Which process dies, and when; or is stopped, and killed once it was silent for long; or which
// host is cut off.
struct Kill {
  std::string pipeline{};
  unsigned stage = 0;
  unsigned rank = 0;
  bool standby = false;  // in place of a stage and rank: whoever stands by
  unsigned percent = 0;  // of all tokens of answers are there then ...
  std::string step{};    // ... or it gets to this one of kNamedSteps
  bool stops = false;
  bool cuts = false;  // of a host, its link alone: what runs on it lives on
};

// Not a process of a pipeline.
[[nodiscard]] bool is_daemon(const Kill& kill);

// How a pipeline goes on after a death.
enum class Recover : std::uint8_t {
  replicas,  // from replicas or computed again, as is the shorter by what was measured
  reading,   // from replicas in any case, and what they lack is computed again
  prefill,   // what the dead had is computed again, from ids that are known
  scratch,   // requests that were running are answered anew
};

struct Options {
  // --- for people ---
  PipelineShape colocated{2, 2};
  std::optional<PipelineShape> prefill{}, decode{};  // both or none: in place of `colocated`
  unsigned requests = 16;
  unsigned batch = 4;           // that are answered at the same time
  unsigned prompt_tokens = 48;  // the mean; they lie between half and three halves of it
  unsigned answer_tokens = 24;
  std::uint64_t seed = 1;
  ModelShape model{};
  CacheOptions cache{};
  std::filesystem::path keeper{};  // the daemon's program; empty: looked for
  // Certificates of the couriers of two servers; empty: there is one server. With one pipeline the
  // second has copies of what the first one's keeper has, and takes over when that server is lost.
  std::filesystem::path two_servers{};
  std::string prefill_network{}, decode_network{};  // namespaces of couriers; empty: this one
  std::string decode_address = "127.0.0.1";
  // So many hosts, namespaces of this machine; 0: processes share what they run on. Each has a
  // member of an etcd, a coordinator, a keeper and a courier, and stages take turns.
  unsigned hosts = 0;
  std::filesystem::path certificates{};  // of their couriers
  bool over_ucx = false;                 // which move bytes over UCX, else over TLS
  std::filesystem::path etcd_program{"/usr/bin/etcd"};
  unsigned server_ttl_ms = 10'000;  // silence after which a host's members are taken for gone
  std::filesystem::path courier{};  // the daemon's program; empty: looked for
  std::filesystem::path coordinator_program{};  // likewise
  std::vector<std::string> kill{}, stop{}, cut{};
  // Silence after which the coordinator takes a process for silent; who is silent for as long again
  // is killed by the orchestrator. 0: nobody is, and the coordinator waits as long as it does by
  // default.
  unsigned ttl_ms = 0;
  bool flip = false;
  bool json = false;
  bool replicate = false;
  bool standby = false;
  bool compare = false;
  Recover recover = Recover::replicas;
  unsigned layer_us = 0;           // that a kernel lasts, as --layer-us says; 0: as fast as it goes
  std::filesystem::path record{};  // empty: nothing is recorded

  [[nodiscard]] ModelShape model_shape() const {
    ModelShape all = model;
    all.query_heads = 2 * all.kv_heads;
    return all;
  }
  // On one server; of several each has one.
  [[nodiscard]] bool has_keeper() const {
    return two_servers.empty() && hosts == 0 && (replicate || prefill);
  }
  // That the orchestrator waits at a time: then it looks who is silent.
  [[nodiscard]] std::chrono::milliseconds one_wait() const {
    return std::chrono::milliseconds(ttl_ms > 0 ? ttl_ms / 4 : 10'000);
  }
  // The tokens of a request at most, prompt and answer.
  [[nodiscard]] unsigned most_tokens() const {
    return prompt_tokens / 2 + prompt_tokens + answer_tokens;
  }
  // With blocks for a whole batch.
  [[nodiscard]] CacheOptions cache_options() const {
    CacheOptions all = cache;
    all.blocks = batch * ((most_tokens() + all.tokens_per_block - 1) / all.tokens_per_block);
    return all;
  }

  // --- for the processes that it starts ---
  bool stage_role = false, keeper_role = false, courier_role = false, coordinator_role = false;
  bool host_role = false, etcd_role = false;
  pid_t enter = 0;        // first process of the host that it runs in; 0: of none
  std::string address{};  // of that host
  std::string server{};   // its name
  std::string etcd{};     // what the coordinator, or the member of the etcd, is told of all members
  std::string network{};
  bool log_steps = false;
  Place place{};
  std::string coordinator{};  // where it listens
  std::string member{};       // this process's name in the group
  std::filesystem::path directory{};
  pid_t parent = 0;
  // The group's term and life, when the process has got its place.
  std::uint64_t term = 1;
  std::string life{};
};

// nullptr: there is no such pipeline.
[[nodiscard]] const PipelineShape* shape_of(const Options& options, const std::string& pipeline);
// The deaths, stops and cuts that Options::kill, stop and cut name. Throws Failure where one is
// wrong, or there is no such process.
[[nodiscard]] std::vector<Kill> kills(const Options& options);
// What happens where the process of options.place gets to a named step, to it or to a daemon.
[[nodiscard]] std::vector<AtStep> at_steps(const Options& options);
// Throws Failure where options do not go together.
void check_options(const Options& options);
// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine options_line(Options& options);

}  // namespace aqua::pipeline
