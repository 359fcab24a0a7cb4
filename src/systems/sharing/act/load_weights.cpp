// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/load_weights.hpp"

#include <algorithm>
#include <memory>

#include "aqua/sharing/weights_publisher.hpp"
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/file_source.hpp"
#include "systems/sharing/decide/load_plan.hpp"

namespace aqua::sharing {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

using Sources = std::vector<std::unique_ptr<FileSource>>;

Error in_file(const std::string& path, Error error) {
  if (error.message.find(path) == std::string::npos) {
    error.message = concat(path, ": ", error.message);
  }
  return error;
}

// Reads each run, a piece at a time, to where it lies in its tensor.
Result<void> copy(const LoadPlan& plan, const Sources& sources, WeightsPublisher& publisher,
                  const LoadOptions& options) {
  std::uint64_t all = 0;
  for (const Run& run : plan.runs) all += run.bytes;
  std::vector<std::byte> buffer(std::min<std::uint64_t>(all, kPieceBytes));
  std::uint64_t done = 0;
  for (const Run& run : plan.runs) {
    const std::uint64_t first = run.offset - plan.manifest.tensors[run.tensor].offset;
    for (std::uint64_t at = 0; at < run.bytes;) {
      const std::size_t part = std::min<std::uint64_t>(run.bytes - at, kPieceBytes);
      step("read");
      AQUA_TRY(sources[run.file]->read(run.file_offset + at, std::span(buffer).first(part)));
      AQUA_TRY(publisher.write(run.tensor, first + at, buffer.data(), part));
      at += part;
      done += part;
      if (options.on_progress) options.on_progress(done, all);
    }
  }
  return {};
}

}  // namespace

Result<LoadedWeights> load_weights(Runtime& runtime, const std::vector<std::string>& files,
                                   const LoadOptions& options) {
  if (files.empty()) return Error{Code::invalid_argument, "load: no file is named"};
  Sources sources;
  std::vector<FileTensor> tensors;
  for (const std::string& path : files) {
    AQUA_ASSIGN(auto source, FileSource::open(path));
    auto listed = read_tensor_list(*source, static_cast<std::uint32_t>(sources.size()));
    if (!listed.ok()) return in_file(path, std::move(listed).error());
    tensors.insert(tensors.end(), listed->begin(), listed->end());
    sources.push_back(std::move(source));
  }
  AQUA_ASSIGN(const LoadPlan plan, make_load_plan(tensors, options));
  AQUA_ASSIGN(auto publisher, WeightsPublisher::begin(runtime, plan.manifest, options.keeper));
  AQUA_TRY(copy(plan, sources, publisher, options));
  for (const auto& source : sources) AQUA_TRY(source->check_unchanged());
  AQUA_TRY(publisher.commit());
  LoadedWeights loaded{.version = options.version,
                       .tensors = plan.manifest.tensors.size(),
                       .slab_bytes = slab_bytes(plan.manifest)};
  for (const Run& run : plan.runs) loaded.bytes += run.bytes;
  return loaded;
}

}  // namespace aqua::sharing
