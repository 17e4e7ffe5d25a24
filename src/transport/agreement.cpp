// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/agreement.h"

namespace fabrail::transport {

namespace {

class Differences {
 public:
  // Empty: not told.
  void add(const char* what, const std::string& here, const std::string& there) {
    if (here == there || here.empty() || there.empty()) return;
    if (!text_.empty()) text_ += "; ";
    text_.append(what).append(" ").append(here).append(" here, ").append(there).append(" there");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string text_of(Terms::GpuDirect gpudirect) {
  switch (gpudirect) {
    case Terms::GpuDirect::kUntold:
      break;
    case Terms::GpuDirect::kNo:
      return "no";
    case Terms::GpuDirect::kYes:
      return "yes";
  }
  return {};
}

std::string protocols_text(std::uint8_t protocols) {
  std::string text;
  const auto add = [&](std::uint8_t bit, const char* name) {
    if ((protocols & bit) != 0) text += (text.empty() ? "" : ",") + std::string(name);
  };
  add(Terms::kLl, "LL");
  add(Terms::kLl128, "LL128");
  add(Terms::kSimple, "Simple");
  return text;
}

}  // namespace

std::string disagreement(const Party& own, const Party& peer) {
  Differences differences;
  differences.add("version", own.terms.version, peer.terms.version);
  differences.add("provider", own.provider, peer.provider);
  differences.add("rails", std::to_string(own.addresses.size()),
                  std::to_string(peer.addresses.size()));
  differences.add("GPUDirect", text_of(own.terms.gpudirect), text_of(peer.terms.gpudirect));
  differences.add("protocols", protocols_text(own.terms.protocols),
                  protocols_text(peer.terms.protocols));
  return differences.text();
}

Error differs(const std::string& own_host, const std::string& peer, const std::string& difference) {
  return make_error(Code::kInvalidUsage, 0,
                    "FABRAIL_REQUIRE: this side (host %s) and the peer (%s) differ: %s",
                    own_host.c_str(), peer.c_str(), difference.c_str());
}

}  // namespace fabrail::transport
