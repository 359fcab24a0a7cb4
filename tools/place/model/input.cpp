// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/input.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"

namespace aqua::place {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 8;

// Reads one object; keeps the first fault, after which all is default.
class Object {
 public:
  Object(const Json& value, std::string path, std::optional<Error>& fault)
      : value_(value), path_(std::move(path)), fault_(fault) {
    if (!value_.is_object()) fail("", "is not an object");
  }

  // Every field must be one of these.
  void only(std::initializer_list<std::string_view> names) {
    if (fault_) return;
    for (const auto& field : value_.items()) {
      if (std::find(names.begin(), names.end(), field.key()) != names.end()) continue;
      std::string known;
      for (const auto name : names) known += concat(known.empty() ? "" : ", ", name);
      return fail(field.key(), concat("is not a field known here (", known, ")"));
    }
  }
  void text(const char* name, std::string& out, bool required) {
    const Json* field = find(name, required);
    if (field == nullptr) return;
    if (!field->is_string()) return fail(name, "is not text");
    out = field->get<std::string>();
    const bool clean = std::none_of(out.begin(), out.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (out.empty() || out.size() > 256 || !clean) {
      fail(name, "is not text of 1 to 256 bytes without control characters");
    }
  }
  template <typename N>
  void number(const char* name, N& out, bool required, Bytes least) {
    const Json* field = find(name, required);
    if (field == nullptr) return;
    const bool whole = field->is_number_integer() &&
                       !(field->is_number_unsigned() &&
                         field->get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxBytes));
    const Bytes most = std::min<Bytes>(kMaxBytes, std::numeric_limits<N>::max());
    if (!whole || field->get<Bytes>() < least || field->get<Bytes>() > most) {
      return fail(name, concat("is not an integer from ", least, " to ", most));
    }
    out = static_cast<N>(field->get<Bytes>());
  }
  template <typename T, typename Read>
  void objects(const char* name, std::vector<T>& out, Read read) {
    const Json* array = find(name, true);
    if (array == nullptr) return;
    if (!array->is_array()) return fail(name, "is not an array");
    for (std::size_t i = 0; i < array->size() && !fault_; ++i) {
      Object object((*array)[i], concat(name, "[", i, "]."), fault_);
      read(object, out.emplace_back());
    }
  }

 private:
  const Json* find(const char* name, bool required) {
    if (fault_) return nullptr;
    const auto at = value_.find(name);
    if (at != value_.end()) return &*at;
    if (required) fail(name, "is missing");
    return nullptr;
  }
  void fail(std::string_view name, std::string_view what) {
    if (fault_) return;
    std::string where = concat(path_, name);
    if (!where.empty() && where.back() == '.') where.pop_back();
    // Shown to a person, and it came from a file.
    if (where.size() > 200) where = where.substr(0, 200) + "...";
    fault_ =
        Error{Code::invalid_argument, concat("input: ", where, where.empty() ? "" : " ", what)};
  }

  const Json& value_;
  std::string path_;
  std::optional<Error>& fault_;
};

}  // namespace

Result<Problem> parse_problem(std::string_view text) {
  if (text.size() > kMaxInput) {
    return Error{Code::invalid_argument,
                 concat("input: ", text.size(), " bytes, at most ", kMaxInput)};
  }
  const Json value = parse_shallow(text, kDeepest);
  if (value.is_discarded()) {
    return Error{Code::invalid_argument, "input: not JSON in UTF-8, or nested too deep"};
  }
  std::optional<Error> fault;
  Problem problem;
  Object root(value, "", fault);
  root.only({"servers", "models", "move_cost_bytes"});
  root.number("move_cost_bytes", problem.move_cost_bytes, false, 0);
  root.objects("servers", problem.servers, [](Object& from, Server& server) {
    from.only({"id", "gpus", "hbm_bytes", "domain", "bandwidth_bytes"});
    from.text("id", server.id, true);
    from.number("gpus", server.gpus, true, 1);
    from.number("hbm_bytes", server.hbm_bytes, true, 1);
    from.text("domain", server.domain, false);
    from.number("bandwidth_bytes", server.bandwidth_bytes, false, 0);
  });
  root.objects("models", problem.models, [](Object& from, Model& model) {
    from.only({"id", "shards", "bytes", "current", "fixed", "apart"});
    from.text("id", model.id, true);
    from.number("shards", model.shards, true, 1);
    from.number("bytes", model.bytes, true, -kMaxBytes);
    from.text("current", model.current, false);
    from.text("fixed", model.fixed, false);
    from.text("apart", model.apart, false);
  });
  if (fault) return std::move(*fault);
  return problem;
}

}  // namespace aqua::place
