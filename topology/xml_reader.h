// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads XML as NCCL's topology reader does, which is less than XML: where NCCL would stop, this
// stops and says at which line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabrail::topology {

struct XmlElement {
  std::string name = {};
  std::vector<std::pair<std::string, std::string>> attributes = {};
  int line = 0;
  int parent = -1;  ///< index in XmlDocument::elements, before this element's own
  std::size_t children = 0;

  /// The attribute's value, or null.
  [[nodiscard]] const std::string* find(std::string_view key) const;
};

struct XmlProblem {
  int line = 0;
  std::string text = {};
};

struct XmlDocument {
  std::vector<XmlElement> elements = {};  ///< in the order of their start tags
  std::optional<XmlProblem> stop = {};    ///< why NCCL would read no further
};

/// The longest name and value.
inline constexpr std::size_t kNcclMaxString = 254;
inline constexpr std::size_t kNcclMaxAttributes = 16;

/// Bounded: the size of the result is at most in proportion to the text's.
XmlDocument read_nccl_xml(std::string_view text);

}  // namespace fabrail::topology
