// Knows nlohmann-json: its event reader, since its tree would swallow a key that
// is there twice, and knows no places.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "spec/bare_word.hpp"
#include "spec/document.hpp"
#include "spec/json_problem.hpp"
#include "spec/number.hpp"

namespace mayfly::spec {
namespace {

// Counts what the library has taken, since its events do not say where they are.
struct Cursor {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  const char* at = nullptr;
  std::size_t* taken = nullptr;

  const char& operator*() const { return *at; }
  Cursor& operator++() {
    ++at;
    if (taken != nullptr) ++*taken;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }
  bool operator!=(const Cursor& other) const { return at != other.at; }
};

// Where bytes stand, asked for in their order: to count from the start each time would make a long
// line quadratic.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    if (offset < offset_) *this = Places(text_);
    for (; offset_ < offset; ++offset_) {
      const auto byte = static_cast<unsigned char>(text_[offset_]);
      if (byte == '\n') {
        position_ = {.line = position_.line + 1, .column = 1};
      } else if ((byte & 0xC0) != 0x80) {
        ++position_.column;
      }
    }
    return position_;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  Position position_{.line = 1, .column = 1};
};

class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Builder(std::string name, std::string_view text)
      : document_{.name = std::move(name), .root = {}}, text_(text), places_(text) {}

  void read() {
    if (const std::optional<std::size_t> nul = nul_in_json(text_)) {
      refuse(places_.at(*nul), kNulInJson.what, kNulInJson.remedy);
      return;
    }
    const Cursor begin{.at = text_.data(), .taken = &taken_};
    const Cursor end{.at = text_.data() + text_.size()};
    nlohmann::json::sax_parse(begin, end, this);
  }

  Result<Document> finish() {
    if (error_) return *std::move(error_);
    document_.root = std::move(root_);
    return std::move(document_);
  }

  // The library's events. False ends the reading.
  bool null() { return add({.kind = Node::Kind::Other, .at = scalar(), .text = "null"}); }
  bool boolean(bool value) {
    return add({.kind = Node::Kind::Boolean, .at = scalar(), .text = value ? "true" : "false"});
  }
  bool number_integer(number_integer_t value) { return integer(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) { return integer(std::to_string(value)); }
  // What is too large for an integer comes here, too.
  bool number_float(number_float_t, const string_t& text) {
    std::optional<std::string> plain = plain_number(text);
    if (!plain) return refuse(scalar(), kOutOfRange, "write it in digits, without an exponent");
    return add(number_node(scalar(), *std::move(plain)));
  }
  bool string(string_t& value) {
    return add({.kind = Node::Kind::Text, .at = quote(), .text = std::move(value)});
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Node::Kind::Table); }
  bool start_array(std::size_t) { return open(Node::Kind::Array); }
  bool key(string_t& name) {
    open_.back().key = std::move(name);
    open_.back().key_at = quote();
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() { return refuse_twins(open_.back().node.members) && close(); }
  template <class Exception>
  bool parse_error(std::size_t offset, const std::string&, const Exception& what) {
    const JsonProblem problem = json_problem(what.what());
    const std::size_t at = offset == 0 ? 0 : offset - 1;
    const BareWord word = bare_word(text_, at);
    const bool is_of_word = problem.is_of_word && !word.text.empty() && is_value(text_, word);
    if (!is_of_word) return refuse(places_.at(at), problem.what, problem.remedy);
    const std::optional<WordProblem> own = word_problem(word.text);
    return own ? refuse(places_.at(word.at), own->what, own->remedy)
               : refuse(places_.at(word.at), problem.what, problem.remedy);
  }

 private:
  // What is not closed yet.
  struct Open {
    Node node;
    std::string key = {};  // of the value that comes next
    Position key_at = {};
  };

  bool refuse(Position at, const std::string& reason, std::string hint) {
    if (!error_) error_ = document_.error(at, reason, std::move(hint));
    return false;
  }

  bool integer(std::string digits) { return add(number_node(scalar(), std::move(digits))); }

  bool open(Node::Kind kind) {
    constexpr std::size_t kMostDepth = 64;
    const Position at = places_.at(taken_ - 1);
    if (open_.size() == kMostDepth) return refuse(at, "this is nested too deeply", kFlatter);
    open_.push_back({.node = {.kind = kind, .at = at}});
    return true;
  }

  bool close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    return add(std::move(node));
  }

  bool add(Node node) {
    if (open_.empty()) {
      if (node.kind != Node::Kind::Table)
        return refuse(node.at, "it is no object", "the whole must be in braces: { \"name\": … }");
      root_ = std::move(node);
      return true;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::Array) {
      parent.node.items.push_back(std::move(node));
    } else {
      parent.node.members.push_back(
          {.key = std::move(parent.key), .at = parent.key_at, .value = std::move(node)});
    }
    return true;
  }

  bool refuse_twins(const std::vector<Member>& members) {
    std::vector<const Member*> sorted;
    for (const Member& member : members)
      sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Member* a, const Member* b) { return a->key < b->key; });
    const auto twin =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const Member* a, const Member* b) { return a->key == b->key; });
    if (twin == sorted.end()) return true;
    return refuse((*(twin + 1))->at, "the key " + shown((*twin)->key) + " is there twice",
                  "leave one of them out");
  }

  // Where the string begins whose closing quote was taken last.
  Position quote() {
    std::size_t at = taken_ - 1;
    for (bool inside = true; inside && at > 0;) {
      --at;
      if (text_[at] != '"') continue;
      std::size_t slashes = 0;
      while (slashes < at && text_[at - 1 - slashes] == '\\')
        ++slashes;
      inside = slashes % 2 == 1;
    }
    return places_.at(at);
  }

  // Where the word or number begins that was taken last, perhaps with one character behind it.
  Position scalar() {
    const auto belongs = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
             c == 'E';
    };
    std::size_t end = taken_;
    while (end > 0 && !belongs(text_[end - 1]))
      --end;
    while (end > 0 && belongs(text_[end - 1]))
      --end;
    return places_.at(end);
  }

  Document document_;
  std::string_view text_;
  Places places_;
  std::size_t taken_ = 0;
  Node root_;
  std::vector<Open> open_;
  std::optional<Error> error_;
};

}  // namespace

Result<Document> parse_json(std::string name, std::string_view text) {
  Builder builder(std::move(name), text);
  builder.read();
  return builder.finish();
}

}  // namespace mayfly::spec
