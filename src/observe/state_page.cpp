// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/observe/state_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fabrail::observe {

namespace {

constexpr std::uint64_t kMagic = 0x6574617473626166;  // "fabstate"
constexpr std::uint32_t kVersion = 1;
constexpr const char* kName = "fabrail-state";

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

}  // namespace

struct StatePage::Layout {
  struct Lane {
    std::atomic<std::uint32_t> used;
    std::atomic<std::uint32_t> sequence;  // odd while the text is being written
    std::atomic<std::uint32_t> answered;
    std::uint32_t bytes;
    char text[kTextBytes];
  };

  std::uint64_t magic;
  std::uint32_t version;
  std::atomic<std::uint32_t> asked;
  char unused[4096 - 16];
  Lane lanes[kDevices];
};

namespace {

Error failure(const char* call) {
  return make_error(Code::kSystem, errno, "no page for `fabrail stalls`: %s: %s", call,
                    std::strerror(errno));
}

// Growing a file beyond this limit does not fail, it ends the process.
bool may_grow_to(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace

void StatePage::Unmap::operator()(Layout* layout) const noexcept { munmap(layout, sizeof *layout); }

StatePage::StatePage(StatePage&& other) noexcept
    : layout_(std::move(other.layout_)), fd_(std::exchange(other.fd_, -1)) {}

StatePage& StatePage::operator=(StatePage&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(fd_, other.fd_);
  return *this;
}

StatePage::~StatePage() {
  if (fd_ >= 0) ::close(fd_);
}

Result<StatePage> StatePage::map(int fd) {
  StatePage page;
  page.fd_ = fd;
  void* memory =
      mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return failure("mmap");
  page.layout_.reset(static_cast<Layout*>(memory));
  return page;
}

// Sealed: whoever opens it cannot take the memory away from under the plugin.
Result<StatePage> StatePage::create() {
  if (!may_grow_to(sizeof(Layout))) {
    errno = EFBIG;
    return failure("RLIMIT_FSIZE");
  }
  const int fd = memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return failure("memfd_create");
  if (ftruncate(fd, sizeof(Layout)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const Error error = failure("ftruncate or fcntl");
    ::close(fd);
    return error;
  }
  FR_TRY_ASSIGN(StatePage page, map(fd));
  page.layout_->magic = kMagic;
  page.layout_->version = kVersion;
  return page;
}

Result<StatePage> StatePage::find(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  if (error) {
    return make_error(
        error == std::errc::permission_denied ? Code::kSystem : Code::kInvalidArgument,
        error.value(), "%s: %s", folder.c_str(), error.message().c_str());
  }
  for (const auto& file : files) {
    const std::string target = std::filesystem::read_symlink(file.path(), error).string();
    if (error || !target.starts_with(std::string("/memfd:") + kName + " ")) continue;
    const int fd = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return failure("open");
    struct stat status {};
    if (fstat(fd, &status) != 0 || status.st_size != static_cast<off_t>(sizeof(Layout))) {
      ::close(fd);
      return make_error(Code::kUnsupported, 0, "process %d has another version of fabrail", pid);
    }
    FR_TRY_ASSIGN(StatePage page, map(fd));
    if (page.layout_->magic == kMagic && page.layout_->version == kVersion) return page;
    return make_error(Code::kUnsupported, 0, "process %d has another version of fabrail", pid);
  }
  return make_error(Code::kInvalidArgument, 0,
                    "process %d has not initialised fabrail: NCCL has not loaded it there, or not "
                    "yet (or it is an older version)",
                    pid);
}

const std::atomic<std::uint32_t>& StatePage::asked() const { return layout_->asked; }

void StatePage::open_device(std::size_t device) {
  layout_->lanes[device].used.store(1, std::memory_order_release);
}

void StatePage::answer(std::size_t device, std::uint32_t asked, std::string_view text) {
  Layout::Lane& lane = layout_->lanes[device];
  const std::size_t bytes = std::min(text.size(), kTextBytes);
  lane.sequence.fetch_add(1, std::memory_order_acq_rel);
  std::memcpy(lane.text, text.data(), bytes);
  lane.bytes = static_cast<std::uint32_t>(bytes);
  lane.answered.store(asked, std::memory_order_release);
  lane.sequence.fetch_add(1, std::memory_order_release);
}

std::uint32_t StatePage::ask() {
  return layout_->asked.fetch_add(1, std::memory_order_acq_rel) + 1;
}

bool StatePage::has_device(std::size_t device) const {
  return layout_->lanes[device].used.load(std::memory_order_acquire) != 0;
}

std::optional<std::string> StatePage::answer_to(std::size_t device, std::uint32_t asked) const {
  Layout::Lane& lane = layout_->lanes[device];
  const std::uint32_t before = lane.sequence.load(std::memory_order_acquire);
  const bool answered =
      static_cast<std::int32_t>(lane.answered.load(std::memory_order_acquire) - asked) >= 0;
  if (!answered || before % 2 != 0) return std::nullopt;
  std::string text(lane.text, std::min<std::size_t>(lane.bytes, kTextBytes));
  // Written back unchanged, so that no read of the text can come after it.
  if (lane.sequence.fetch_add(0, std::memory_order_acq_rel) != before) return std::nullopt;
  return text;
}

}  // namespace fabrail::observe
