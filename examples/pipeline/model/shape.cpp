// SPDX-License-Identifier: Apache-2.0
#include "model/shape.hpp"

#include <algorithm>
#include <charconv>

namespace aqua::pipeline {
namespace {

std::optional<unsigned> whole(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) return {};
  return number;
}

}  // namespace

std::optional<PipelineShape> parse_shape(std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return {};
  const auto stages = whole(text.substr(0, cross)), ranks = whole(text.substr(cross + 1));
  if (!stages || !ranks) return {};
  return PipelineShape{*stages, *ranks};
}

std::string to_string(const PipelineShape& shape) {
  return std::to_string(shape.stages) + "x" + std::to_string(shape.ranks);
}

std::optional<std::string> refusal(const ModelShape& model, const PipelineShape& pipeline) {
  if (pipeline.stages > model.layers) {
    return std::to_string(pipeline.stages) + " stages are more than the model's " +
           std::to_string(model.layers) + " layers";
  }
  const auto divides = [](unsigned part, unsigned all) { return all % part == 0; };
  if (!divides(pipeline.ranks, model.query_heads) ||
      (!divides(pipeline.ranks, model.kv_heads) && !divides(model.kv_heads, pipeline.ranks))) {
    return std::to_string(pipeline.ranks) + " ranks do not divide " +
           std::to_string(model.query_heads) + " query heads over " +
           std::to_string(model.kv_heads) + " KV heads";
  }
  return {};
}

Part part_of(const ModelShape& model, const PipelineShape& pipeline, unsigned stage,
             unsigned rank) {
  Part part;
  const unsigned each = model.layers / pipeline.stages, more = model.layers % pipeline.stages;
  part.layers = {stage * each + std::min(stage, more), each + (stage < more ? 1U : 0U)};
  const unsigned queries = model.query_heads / pipeline.ranks;
  part.query_heads = {rank * queries, queries};
  const unsigned shared = model.query_heads / model.kv_heads;
  part.kv_heads.first = part.query_heads.first / shared;
  part.kv_heads.count = (part.query_heads.first + queries - 1) / shared - part.kv_heads.first + 1;
  return part;
}

}  // namespace aqua::pipeline
