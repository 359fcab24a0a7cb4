// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/load_plan.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/file_tensor_checks.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"
#include "systems/sharing/decide/name_pattern.hpp"

namespace aqua::sharing {
namespace {

template <typename... What>
Error bad_plan(const What&... what) {
  return Error{Code::invalid_argument, concat("load plan: ", what...)};
}

// The part of a tensor that a shard has: so many pieces, each `step` bytes behind the one before.
struct Part {
  std::vector<std::uint64_t> shape{};
  std::uint64_t first = 0;  // where the first piece begins in the tensor
  std::uint64_t pieces = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t step = 0;
};

// Elements of axes further out than the cut each have a piece. Where there are none, or a single
// shard has it all, the part is one piece. `tensor` has the bytes of its shape.
Result<Part> cut(const FileTensor& tensor, std::uint32_t axis, std::uint32_t shard,
                 std::uint32_t shards) {
  Part part{.shape = tensor.shape};
  if (axis >= part.shape.size()) {
    return bad_plan(shown(tensor.name), ": has no axis ", axis, " to be cut along, but ",
                    part.shape.size(), " axes");
  }
  const std::uint64_t block = axis + 1 == part.shape.size() ? tensor.type.elements : 1;
  std::uint64_t& length = part.shape[axis];
  if (length % (block * shards) != 0) {
    return bad_plan(shown(tensor.name), ": axis ", axis, " of ", length, " elements, in blocks of ",
                    block, ", cannot be cut into ", shards, " equal parts");
  }
  length /= shards;
  if (tensor.bytes == 0) return part;
  part.pieces = 1;
  for (std::uint32_t outer = 0; outer < axis; ++outer) part.pieces *= part.shape[outer];
  if (shards == 1) part.pieces = 1;
  part.step = tensor.bytes / part.pieces;
  part.piece_bytes = part.step / shards;
  part.first = part.piece_bytes * shard;
  return part;
}

class LoadPlanner {
 public:
  explicit LoadPlanner(const LoadOptions& options) : options_(options) {
    Manifest& manifest = plan_.manifest;
    manifest.model = options.model;
    manifest.version = options.version;
    manifest.shard = options.shard;
    manifest.shards = options.shards;
  }

  [[nodiscard]] Result<LoadPlan> make(const std::vector<FileTensor>& tensors) {
    if (options_.shard >= options_.shards || options_.shards > kMostShards) {
      return bad_plan("shard ", options_.shard, " of ", options_.shards);
    }
    if (tensors.size() > kMostTensors) return bad_plan("more than ", kMostTensors, " tensors");
    for (const FileTensor& tensor : tensors) AQUA_TRY(add_tensor(tensor));
    AQUA_TRY(lay_out(plan_.manifest, options_.slab_bytes));
    for (Run& run : plan_.runs) run.offset += plan_.manifest.tensors[run.tensor].offset;
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Result<void> add_tensor(const FileTensor& tensor) {
    const auto [known, is_new] = files_.emplace(tensor.name, tensor.file);
    if (!is_new) {
      return bad_plan(shown(tensor.name), ": is in file ", known->second, " and in file ",
                      tensor.file);
    }
    const std::string where = concat("load plan: ", shown(tensor.name));
    AQUA_ASSIGN(const std::uint64_t bytes, dense_bytes(where, tensor.type, tensor.shape));
    std::uint64_t end = 0;
    if (bytes != tensor.bytes || __builtin_add_overflow(tensor.offset, bytes, &end)) {
      return bad_plan(shown(tensor.name), ": bytes ", tensor.offset, " to ", tensor.offset, " + ",
                      tensor.bytes, " are not those of its shape, ", bytes);
    }
    AQUA_ASSIGN(const std::uint32_t type, number_of(tensor.type));
    AQUA_ASSIGN(Part part, part_of(tensor));
    return add_part(tensor, type, std::move(part));
  }

  [[nodiscard]] Result<std::uint32_t> number_of(const ElementType& type) {
    std::vector<ElementType>& types = plan_.manifest.types;
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const auto& known) { return known.name == type.name; });
    if (found == types.end()) {
      if (types.size() == kMostTypes) return bad_plan("more than ", kMostTypes, " types");
      types.push_back(type);
      return static_cast<std::uint32_t>(types.size() - 1);
    }
    if (*found != type) return bad_plan("type ", shown(type.name), " has blocks of two sizes");
    return static_cast<std::uint32_t>(found - types.begin());
  }

  [[nodiscard]] Result<Part> part_of(const FileTensor& tensor) const {
    for (const SplitRule& rule : options_.rules) {
      if (fits(rule.pattern, tensor.name)) {
        return cut(tensor, rule.axis, options_.shard, options_.shards);
      }
    }
    return Part{.shape = tensor.shape, .pieces = 1, .piece_bytes = tensor.bytes};
  }

  // Offsets of its runs count from the tensor's first byte until all are laid out.
  [[nodiscard]] Result<void> add_part(const FileTensor& tensor, std::uint32_t type, Part part) {
    if (part.pieces > kMostRuns - plan_.runs.size()) {
      return Error{Code::resource_exhausted,
                   concat("load plan: ", shown(tensor.name), ": is cut into ", part.pieces,
                          " pieces, which makes more than ", kMostRuns,
                          " in all; cut it along an axis further out")};
    }
    const auto number = static_cast<std::uint32_t>(plan_.manifest.tensors.size());
    for (std::uint64_t piece = 0; part.piece_bytes > 0 && piece < part.pieces; ++piece) {
      plan_.runs.push_back({.tensor = number,
                            .file = tensor.file,
                            .file_offset = tensor.offset + part.first + piece * part.step,
                            .offset = piece * part.piece_bytes,
                            .bytes = part.piece_bytes});
    }
    plan_.manifest.tensors.push_back(
        {.name = tensor.name, .type = type, .shape = std::move(part.shape)});
    return {};
  }

  const LoadOptions& options_;
  LoadPlan plan_;
  std::unordered_map<std::string_view, std::uint32_t> files_;  // of the tensors so far
};

}  // namespace

Result<LoadPlan> make_load_plan(const std::vector<FileTensor>& tensors,
                                const LoadOptions& options) {
  return LoadPlanner(options).make(tensors);
}

}  // namespace aqua::sharing
