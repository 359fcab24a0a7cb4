// SPDX-License-Identifier: Apache-2.0
// A graph that was captured over shared weights, and launched after they have been away.
#include <cuda_runtime_api.h>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/gpu/sharing/checks.hpp"
#include "tests/gpu/sharing/scene.hpp"
#include "tests/gpu/sharing/weights.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Answer;
using first_contact::Clock;
using first_contact::Gpu;

// A graph of one kernel, as an engine captures it. Nothing is given back: see Gpu.
class Graph {
 public:
  [[nodiscard]] static Result<Graph> capture(const Gpu& gpu, const WeightsByKernel& work) {
    AQUA_ASSIGN(const CUstream stream, gpu.stream());
    // The runtime's threads make calls of their own meanwhile.
    AQUA_TRY(done(gpu, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                  "cudaStreamBeginCapture"));
    AQUA_TRY(work.queue(gpu, stream));
    cudaGraph_t graph = nullptr;
    AQUA_TRY(done(gpu, cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture"));
    cudaGraphExec_t launchable = nullptr;
    AQUA_TRY(done(gpu, cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate"));
    return Graph(launchable, stream);
  }
  [[nodiscard]] Result<void> launch(const Gpu& gpu) const {
    AQUA_TRY(done(gpu, cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"));
    return gpu.wait(stream_);
  }

 private:
  Graph(cudaGraphExec_t graph, CUstream stream) : graph_(graph), stream_(stream) {}
  static Result<void> done(const Gpu& gpu, cudaError_t error, const char* call) {
    return gpu.done(static_cast<CUresult>(error), call);
  }
  cudaGraphExec_t graph_;
  CUstream stream_;
};

// Away and back at the same addresses. Their memory is somebody else's meanwhile, if it is free.
Result<double> away_and_back(const Gpu& gpu, sharing::SharedWeights& weights) {
  const std::byte* const before = weights.tensor(0).address;
  AQUA_TRY(weights.suspend());
  AQUA_TRY(fill_other_memory(gpu));
  const auto start = Clock::now();
  AQUA_TRY(weights.resume());
  const double microseconds = first_contact::microseconds_since(start);
  if (weights.tensor(0).address == before) return microseconds;
  return Error{Code::internal, "resume() came back at another address"};
}

}  // namespace

Result<Answer> graph_resume(const Gpu& gpu) {
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  AQUA_TRY(publish_and_end(1));
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(auto weights, attach(runtime));
  AQUA_ASSIGN(const auto work, WeightsByKernel::prepare(gpu, weights));
  AQUA_ASSIGN(const Graph graph, Graph::capture(gpu, work));
  // What the graph of the first capture reads now.
  const auto reads = [&](unsigned version) -> Result<void> {
    AQUA_TRY(work.clear(gpu));
    AQUA_TRY(graph.launch(gpu));
    return work.compare(gpu, version);
  };
  AQUA_TRY(reads(1));
  AQUA_ASSIGN(const double same, away_and_back(gpu, weights));
  AQUA_TRY(reads(1));
  AQUA_TRY(publish_and_end(2));
  AQUA_TRY(reads(1));  // a newer version changes nothing before resume()
  AQUA_ASSIGN(const double newer, away_and_back(gpu, weights));
  if (weights.manifest().version != "2")
    return Error{Code::internal, concat("resume() mapped version ", weights.manifest().version)};
  AQUA_TRY(reads(2));
  AQUA_TRY(compare(gpu, weights, 2));
  return Answer{.yes = true,
                .detail = concat("the same version (back in ", same, " us) and a newer one (",
                                 newer, " us): the bytes that lie there"),
                .figures = {{"resume_us", same}, {"resume_newer_us", newer}}};
}

}  // namespace aqua::sharing_contact
