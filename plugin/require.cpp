// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/require.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fabrail::plugin {

namespace {

constexpr std::string_view kLibfabricPrefix = "libfabric>=";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Requirement> counted(std::string_view word, std::string_view name, Required what) {
  if (!word.starts_with(name)) return std::nullopt;
  const auto number = whole_number(word.substr(name.size()));
  if (!number || *number == 0) return std::nullopt;
  return Requirement{.what = what, .number = *number};
}

std::optional<Requirement> libfabric_version(std::string_view word) {
  if (!word.starts_with(kLibfabricPrefix)) return std::nullopt;
  const std::string_view version = word.substr(kLibfabricPrefix.size());
  const std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = whole_number(version.substr(0, dot));
  const auto minor = whole_number(version.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return Requirement{.what = Required::kLibfabric, .number = *major, .minor = *minor};
}

std::optional<Requirement> parse_word(std::string_view word) {
  if (word == "efa") return Requirement{.what = Required::kEfa};
  if (word == "gdr") return Requirement{.what = Required::kGdr};
  if (word == "dmabuf") return Requirement{.what = Required::kDmabuf};
  if (word == "instance") return Requirement{.what = Required::kInstance};
  if (const auto nics = counted(word, "nics=", Required::kNics)) return nics;
  if (const auto rails = counted(word, "rails=", Required::kRails)) return rails;
  return libfabric_version(word);
}

std::string found_libfabric(const Facts& facts) {
  if (facts.libfabric_path.empty()) return "none could be opened";
  return std::to_string(facts.libfabric_major) + "." + std::to_string(facts.libfabric_minor) +
         " was loaded from " + facts.libfabric_path;
}

std::string judge_libfabric(const Requirement& wanted, const Facts& facts) {
  const bool opened = !facts.libfabric_path.empty();
  const bool newer =
      facts.libfabric_major > wanted.number ||
      (facts.libfabric_major == wanted.number && facts.libfabric_minor >= wanted.minor);
  if (opened && newer) return {};
  return std::string(kLibfabricPrefix) + std::to_string(wanted.number) + "." +
         std::to_string(wanted.minor) + ": " + found_libfabric(facts);
}

std::string judge_efa(const Facts& facts) {
  if (facts.uses_efa()) return {};
  if (facts.libfabric_path.empty()) return "efa: libfabric could not be opened";
  std::string why;
  for (const std::string& reason : facts.passed_over) {
    if (reason.starts_with("efa")) why = " (" + reason + ")";
  }
  return "efa: the provider is " + (facts.provider.empty() ? "none" : facts.provider) + why;
}

std::string judge_nics(std::size_t wanted, const Facts& facts) {
  if (facts.nics >= wanted) return {};
  return "nics=" + std::to_string(wanted) + ": this process can use " + std::to_string(facts.nics) +
         (facts.nics_chosen ? " (FABRAIL_NICS is set)" : "");
}

std::string judge_rails(std::size_t wanted, const Facts& facts) {
  const bool enough = !facts.rails.empty() && *std::ranges::min_element(facts.rails) >= wanted;
  if (enough) return {};
  return "rails=" + std::to_string(wanted) + ": there are " + rails_text(facts.rails);
}

std::string judge_gdr(const Facts& facts) {
  return facts.gpu.gpudirect ? "" : "gdr: " + facts.gpu.reason;
}

std::string judge_dmabuf(const Facts& facts) {
  return facts.gpu.dmabuf ? "" : "dmabuf: " + facts.gpu.reason;
}

// All that the type can do; the first that is missing.
std::string judge_instance(const Facts& facts) {
  if (facts.type == nullptr) {
    return "instance: this machine" +
           (facts.instance.empty() ? " is not known to be an EC2 instance"
                                   : " is " + facts.instance + ", of which nothing is known") +
           " (FABRAIL_INSTANCE can name the type)";
  }
  std::string missing = judge_efa(facts);
  if (missing.empty()) missing = judge_nics(facts.expected_nics(), facts);
  if (missing.empty() && facts.type->gpudirect == topology::GpuDirect::kYes)
    missing = judge_gdr(facts);
  return missing.empty() ? "" : std::string("instance (") + facts.type->name + "): " + missing;
}

std::string judge(const Requirement& requirement, const Facts& facts) {
  const auto number = static_cast<std::size_t>(requirement.number);
  switch (requirement.what) {
    case Required::kLibfabric:
      return judge_libfabric(requirement, facts);
    case Required::kInstance:
      return judge_instance(facts);
    case Required::kEfa:
      return judge_efa(facts);
    case Required::kNics:
      return judge_nics(number, facts);
    case Required::kRails:
      return judge_rails(number, facts);
    case Required::kGdr:
      return judge_gdr(facts);
    case Required::kDmabuf:
      break;
  }
  return judge_dmabuf(facts);
}

}  // namespace

Result<std::vector<Requirement>> parse_requirements(std::string_view text) {
  std::vector<Requirement> requirements;
  if (trimmed(text).empty()) return requirements;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word(trimmed(text.substr(begin, end - begin)));
    const auto requirement = parse_word(word);
    if (!requirement) {
      return make_error(Code::kInvalidUsage, 0,
                        "FABRAIL_REQUIRE: \"%.64s\" is not one of efa, nics=N, rails=N, "
                        "libfabric>=MAJOR.MINOR, gdr, dmabuf, instance (with commas between)",
                        word.c_str());
    }
    requirements.push_back(*requirement);
    begin = end + 1;
  }
  return requirements;
}

std::vector<std::string> unmet(const std::vector<Requirement>& requirements, const Facts& facts) {
  std::vector<Requirement> sorted = requirements;
  std::ranges::stable_sort(sorted, {}, &Requirement::what);
  std::vector<std::string> sentences;
  for (const Requirement& requirement : sorted) {
    if (std::string sentence = judge(requirement, facts); !sentence.empty())
      sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace fabrail::plugin
