// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/xml_reader.h"

#include <algorithm>
#include <utility>

namespace fabrail::topology {

namespace {

// NCCL takes a few hundred: a file with more than this is something else.
constexpr std::size_t kMostElements = 4096;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  XmlDocument run() {
    while (!document_.stop && skip_space()) read_tag();
    if (!document_.stop && open_ >= 0) {
      stop("<" + document_.elements[static_cast<std::size_t>(open_)].name + "> is not closed");
    }
    return std::move(document_);
  }

 private:
  // Tabs are not among what NCCL skips.
  bool skip_space() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\n' || peek() == '\r')) advance();
    return at_ < text_.size();
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  char advance() {
    if (at_ >= text_.size()) return '\0';
    line_ += text_[at_] == '\n';
    return text_[at_++];
  }

  void stop(std::string text) {
    if (!document_.stop) document_.stop = XmlProblem{line_, std::move(text)};
  }

  void read_tag() {
    if (peek() == '\t') return stop("a tab; NCCL takes spaces and line ends only");
    if (advance() != '<') return stop("text where a tag should begin");
    if (text_.substr(at_).starts_with("!--")) return skip_comment();
    if (peek() == '?' || peek() == '!') {
      return stop("NCCL knows no declarations (<?xml ... ?> and the like): take the line out");
    }
    if (peek() == '/') return read_end();
    read_start();
  }

  void skip_comment() {
    const std::size_t end = text_.find("-->", at_);
    if (end == std::string_view::npos) return stop("a comment without an end");
    while (at_ < end + 3) advance();
  }

  void read_end() {
    advance();
    const std::string name = read_name();
    if (advance() != '>') return stop("something behind the name in </" + name + ">");
    if (open_ < 0) return stop("</" + name + "> without a beginning");
    const XmlElement& element = document_.elements[static_cast<std::size_t>(open_)];
    if (element.name != name) return stop("</" + name + "> where <" + element.name + "> is open");
    open_ = element.parent;
  }

  void read_start() {
    XmlElement element{.line = line_, .parent = open_};
    element.name = read_name();
    if (element.name.empty() && !document_.stop) return stop("a tag without a name");
    while (!document_.stop && peek() == ' ') read_attribute(element);
    const bool single = peek() == '/';
    if (single) advance();
    if (document_.stop) return;
    if (peek() == '\n' || peek() == '\r' || peek() == '\t') {
      return stop("a line end or tab inside <" + element.name + ">; NCCL takes single spaces only");
    }
    if (advance() != '>') return stop("<" + element.name + "> does not end with >");
    if (document_.elements.size() >= kMostElements) return stop("far too many elements");
    if (open_ >= 0) ++document_.elements[static_cast<std::size_t>(open_)].children;
    if (!single) open_ = static_cast<int>(document_.elements.size());
    document_.elements.push_back(std::move(element));
  }

  void read_attribute(XmlElement& element) {
    advance();
    if (peek() == '>' || peek() == '/' || peek() == ' ') return;
    std::string key = read_name();
    if (document_.stop) return;
    if (advance() != '=') return stop("attribute " + key + " has no value");
    const char quote = advance();
    if (quote != '"' && quote != '\'') return stop("the value of " + key + " is not quoted");
    std::string value = read_until(quote);
    if (!document_.stop) element.attributes.emplace_back(std::move(key), std::move(value));
  }

  std::string read_name() {
    std::string name;
    while (at_ < text_.size() &&
           std::string_view(" >/=\n\r\t").find(peek()) == std::string_view::npos) {
      name += advance();
      if (name.size() > kNcclMaxString) {
        stop("a name longer than " + std::to_string(kNcclMaxString) + " characters");
        break;
      }
    }
    return name;
  }

  std::string read_until(char quote) {
    std::string value;
    while (at_ < text_.size() && peek() != quote) {
      value += advance();
      if (value.size() >= kNcclMaxString) {
        stop("a value of " + std::to_string(kNcclMaxString) + " characters or more");
        return value;
      }
    }
    if (at_ >= text_.size()) stop("a value without an end");
    advance();
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int open_ = -1;
  XmlDocument document_;
};

}  // namespace

const std::string* XmlElement::find(std::string_view key) const {
  const auto found = std::ranges::find(
      attributes, key, [](const auto& attribute) { return std::string_view(attribute.first); });
  return found == attributes.end() ? nullptr : &found->second;
}

XmlDocument read_nccl_xml(std::string_view text) { return Reader(text).run(); }

}  // namespace fabrail::topology
