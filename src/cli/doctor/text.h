// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Small pure functions on text that every check needs: splitting, trimming, numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// The pieces of `text` between `separator`s; an empty text has no pieces, empty pieces are kept.
std::vector<std::string> split(std::string_view text, char separator);

/// The pieces that are separated by spaces and tabs; none of them is empty.
std::vector<std::string> words(std::string_view text);

/// The lines of `text`, without their ends.
std::vector<std::string> lines(std::string_view text);

/// `text` without white space at either end.
std::string_view trim(std::string_view text);

/// `parts` with `separator` between them.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// `parts` as a list for people: at most `most` of them, then "and N more".
std::string list_of(const std::vector<std::string>& parts, std::size_t most = 4);

/// The number that the whole of `text` spells; hexadecimal with "0x" in front.
std::optional<std::int64_t> to_number(std::string_view text);

/// Lower case, ASCII only.
std::string lower(std::string_view text);

/// Whether `text` contains `part`.
bool contains(std::string_view text, std::string_view part);

/// What stands between `before` and the next `after` (or the end), if `before` occurs.
std::optional<std::string> between(std::string_view text, std::string_view before,
                                   std::string_view after);

/// Whether the text is wrapped in quotes that a shell should have taken away.
bool is_quoted(std::string_view text);

/// "3 NICs", "1 NIC": `noun` with an s unless `count` is one.
std::string counted(std::size_t count, std::string_view noun);

}  // namespace fabrail::doctor
