// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/safetensors.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/file_tensor_checks.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"
#include "systems/sharing/decide/piece_reader.hpp"

namespace aqua::sharing {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // as the format has it
constexpr const char* kMetadataKey = "__metadata__";

struct SafetensorsType {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr SafetensorsType kSafetensorsTypes[] = {
    {"BOOL", 1},    {"U8", 1},      {"I8", 1},  {"U16", 2}, {"I16", 2},
    {"F16", 2},     {"BF16", 2},    {"U32", 4}, {"I32", 4}, {"F32", 4},
    {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F64", 8}, {"I64", 8}, {"U64", 8}};

template <typename... What>
Error bad_safetensors(const What&... what) {
  return Error{Code::invalid_argument, concat("safetensors: ", what...)};
}

// HeaderWatch goes through a header before it is parsed. It refuses what the parsed value would no
// longer show, doubled keys, and what would make that value far larger than its text: long arrays,
// and nesting. (As a callback of the parser it would cost a look at every entry for each of them.)
class HeaderWatch final : public nlohmann::json::json_sax_t {
 public:
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  bool null() override { return see_value(); }
  bool boolean(bool) override { return see_value(); }
  bool number_integer(std::int64_t) override { return see_value(); }
  bool number_unsigned(std::uint64_t) override { return see_value(); }
  bool number_float(double, const std::string&) override { return see_value(); }
  bool string(std::string&) override { return see_value(); }
  bool binary(nlohmann::json::binary_t&) override { return see_value(); }
  bool start_object(std::size_t) override {
    fields_.clear();
    if (++depth_ > 2) wrong_ = concat(entry_, ": has an object within");
    return wrong_.empty();
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    items_ = 0;
    if (++depth_ != 3) wrong_ = concat(entry_, ": has an array where none belongs");
    return wrong_.empty();
  }
  bool end_array() override { return --depth_, true; }
  bool key(std::string& key) override {
    if (depth_ == 1) {
      entry_ = shown(key);
      if (!entries_.insert(key).second) wrong_ = concat(entry_, " is there twice");
      if (entries_.size() > kMostTensors) wrong_ = concat("has more than ", kMostTensors, " keys");
    } else if (!fields_.insert(key).second) {
      wrong_ = concat(entry_, ": ", shown(key), " is there twice");
    }
    return wrong_.empty();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool see_value() {
    if (depth_ == 3 && ++items_ > kMostAxes) {
      wrong_ = concat(entry_, ": has more than ", kMostAxes, " axes");
    }
    return wrong_.empty();
  }

  int depth_ = 0;
  std::unordered_set<std::string> entries_;  // keys of the header so far
  std::set<std::string> fields_;             // keys of its latest entry so far
  std::string entry_;                        // the key of that, as messages show it
  std::size_t items_ = 0;                    // of the latest array
  std::string wrong_;
};

Result<nlohmann::json> parse_header(const std::string& text) {
  HeaderWatch watch;
  const bool sound = nlohmann::json::sax_parse(text, &watch);
  if (!watch.wrong().empty()) return bad_safetensors(watch.wrong());
  if (!sound) return bad_safetensors("its header is not a JSON object");
  auto header = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return bad_safetensors("its header is not a JSON object");
  return header;
}

std::vector<std::uint64_t> read_numbers(JsonObject& entry, const char* key) {
  std::vector<std::uint64_t> numbers;
  const nlohmann::json* list = entry.take(key);
  if (list == nullptr) return numbers;
  const auto whole_number = [](const auto& number) { return number.is_number_unsigned(); };
  if (!list->is_array() || !std::all_of(list->begin(), list->end(), whole_number)) {
    entry.fail(concat(key, " is not a list of whole numbers of at least 0"));
    return numbers;
  }
  return list->get<std::vector<std::uint64_t>>();
}

Result<ElementType> safetensors_type(const std::string& where, const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kSafetensorsTypes), std::end(kSafetensorsTypes),
                   [&](const SafetensorsType& type) { return type.name == name; });
  if (found != std::end(kSafetensorsTypes)) return ElementType{.name = name, .bytes = found->bytes};
  return Error{Code::unimplemented,
               concat(where, ": is of dtype '", shown(name), "', which is not known here")};
}

// `data` is where the data begins in the file.
Result<FileTensor> read_entry(const std::string& name, const nlohmann::json& json,
                              std::uint64_t data) {
  const std::string where = concat("safetensors: ", shown(name));
  JsonObject entry(json, where);
  FileTensor tensor{.name = name};
  const std::string dtype = entry.text("dtype");
  tensor.shape = read_numbers(entry, "shape");
  const std::vector<std::uint64_t> offsets = read_numbers(entry, "data_offsets");
  if (json.size() > 3) entry.fail("has more than dtype, shape and data_offsets");
  AQUA_TRY(entry.finish());
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      __builtin_add_overflow(data, offsets[0], &tensor.offset)) {
    return Error{Code::invalid_argument, concat(where, ": data_offsets are no range of a file")};
  }
  AQUA_ASSIGN(tensor.type, safetensors_type(where, dtype));
  AQUA_ASSIGN(tensor.bytes, dense_bytes(where, tensor.type, tensor.shape));
  if (offsets[1] - offsets[0] != tensor.bytes) {
    return Error{Code::invalid_argument,
                 concat(where, ": data_offsets hold ", offsets[1] - offsets[0],
                        " bytes, its shape takes ", tensor.bytes)};
  }
  return tensor;
}

}  // namespace

Result<std::vector<FileTensor>> read_safetensors(ByteSource& source, std::uint32_t file) {
  PieceReader reader(source);
  AQUA_ASSIGN(const std::uint64_t length, reader.u64());
  if (length > kMostHeaderBytes || length > reader.left()) {
    return bad_safetensors("its header of ", length, " bytes does not fit into the file of ",
                           reader.file_bytes(), ", or is over ", kMostHeaderBytes);
  }
  AQUA_ASSIGN(const std::string text, reader.text(length));
  AQUA_ASSIGN(const nlohmann::json header, parse_header(text));
  std::vector<FileTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) continue;
    AQUA_ASSIGN(FileTensor tensor, read_entry(name, entry, reader.position()));
    tensor.file = file;
    tensors.push_back(std::move(tensor));
  }
  AQUA_TRY(check_and_sort("safetensors", reader.file_bytes(), tensors));
  return tensors;
}

}  // namespace aqua::sharing
