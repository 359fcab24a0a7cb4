// SPDX-License-Identifier: Apache-2.0
#include "roles.hpp"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "attached_model.hpp"
#include "child_process.hpp"
#include "daemon_program.hpp"
#include "model/paged_llama.hpp"
#include "must.hpp"
#include "serve/llama_cpp_engine.hpp"
#include "serve/paged_engine.hpp"
#include "serve/phase.hpp"

namespace aqua::prefill_decode {
namespace {

using namespace aqua::literals;
using example::must;
using Kind = Options::Kind;

constexpr const char* kWeights = "weights";

Runtime open_runtime() {
  return must(Runtime::open({.device = "emu:0",
                             .coordinator = "none",
                             .host_bytes = 2_MiB,
                             .curve_directory = "off",
                             .emulated = {.total_bytes = 64_GiB}}),
              "runtime");
}

int load(const Options& options) {
  Runtime runtime = open_runtime();
  (void)must(
      sharing::load_weights(
          runtime, {options.model.string()},
          {.model = kWeights, .version = "1", .keeper = example::keeper_socket(options.directory)}),
      "load");
  return 0;
}

// The engine of a phase, with its part in the pool.
class Serving {
 public:
  explicit Serving(const Options& options)
      : options_(options),
        kind_(options.kind),
        runtime_(open_runtime()),
        stream_(must(emulated::create_stream(runtime_), "stream")),
        pool_(join()),
        engine_(make_engine()) {}
  ~Serving() {
    engine_.reset();
    pool_.reset();
    (void)emulated::destroy_stream(runtime_, stream_);
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  void run() {
    const Role role = kind_ == Kind::prefill  ? Role::prefill
                      : kind_ == Kind::decode ? Role::decode
                                              : Role::both;
    example::LineReader input(STDIN_FILENO);
    Phase phase({.role = role, .chunk_tokens = options_.chunk, .sequences = kSequences}, *engine_,
                *pool_, stream_, input);
    (void)example::write_line(STDOUT_FILENO, {{"ready", true}});
    phase.run();
  }

 private:
  static constexpr unsigned kSequences = 32;

  [[nodiscard]] unsigned threads() const {
    return kind_ == Kind::both ? 2 * options_.threads : options_.threads;
  }
  [[nodiscard]] std::optional<KvPool> join() {
    const bool paged = options_.engine == EngineKind::paged;
    const LlamaShape shape = read_llama_shape(options_.model);
    return must(KvPool::attach(
                    runtime_, {.name = pool_name(kind_),
                               .role = kind_ == Kind::decode ? "decode" : "prefill",
                               .shape = paged ? kv_shape(shape, options_.blocks)
                                              : LlamaCppEngine::state_shape(shape, options_.blocks),
                               .reserve = kind_ == Kind::decode ? 0U : 64U,
                               .keeper = example::keeper_socket(options_.directory)}),
                "pool");
  }
  [[nodiscard]] sharing::SharedWeights attach_weights() {
    return must(
        sharing::SharedWeights::attach(
            runtime_, {.model = kWeights, .keeper = example::keeper_socket(options_.directory)}),
        "weights");
  }
  [[nodiscard]] std::unique_ptr<KvEngine> make_engine() {
    if (options_.engine == EngineKind::llama_cpp) {
      auto model = options_.weights == WeightsIn::keeper
                       ? llama_example::attached_model(
                             options_.model,
                             std::make_shared<const sharing::SharedWeights>(attach_weights()))
                       : llama_example::Model(options_.model);
      return std::make_unique<LlamaCppEngine>(std::move(model), pool_->layout(), kSequences,
                                              options_.most_tokens(), threads());
    }
    if (options_.weights != WeightsIn::keeper) {
      weights_.emplace(options_.model, options_.weights == WeightsIn::file);
    } else {
      weights_.emplace(attach_weights());
    }
    model_.emplace(read_llama_shape(options_.model), *weights_, pool_->layout(), options_.chunk,
                   threads());
    return std::make_unique<PagedEngine>(*model_);
  }

  const Options& options_;
  const Kind kind_;
  Runtime runtime_;
  Stream stream_;
  std::optional<KvPool> pool_;
  std::optional<Weights> weights_{};
  std::optional<PagedLlama> model_{};
  std::unique_ptr<KvEngine> engine_;
};

}  // namespace

const char* pool_name(Options::Kind kind) {
  return kind == Kind::both ? "one process" : "two processes";
}

int run_role(const Options& options) {
  example::die_with_parent(options.parent);
  if (options.kind == Kind::keeper) example::become_keeper(options.keeper, options.directory);
  if (options.kind == Kind::loader) return load(options);
  Serving(options).run();
  return 0;
}

}  // namespace aqua::prefill_decode
