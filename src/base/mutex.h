// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A mutex that clang's -Wthread-safety understands: what is GUARDED_BY one cannot be touched
// without it.
#pragma once

#include <mutex>

#if defined(__clang__)
#define FR_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define FR_THREAD_ATTRIBUTE(x)
#endif
#define GUARDED_BY(x) FR_THREAD_ATTRIBUTE(guarded_by(x))
#define REQUIRES(...) FR_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) FR_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define RETURN_CAPABILITY(x) FR_THREAD_ATTRIBUTE(lock_returned(x))

namespace fabrail {

class FR_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() FR_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() FR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() FR_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class FR_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FR_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() FR_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace fabrail
