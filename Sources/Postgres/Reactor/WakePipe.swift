#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Wakes a thread out of poll(2) from any other.
struct WakePipe: Sendable {
  let readEnd: Int32
  private let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "the system gives no more file descriptors")
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  /// A full pipe is as good as a byte written: the sleeper wakes either way.
  func wake() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  func drain() {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      while read(readEnd, buffer.baseAddress, buffer.count) == buffer.count {}
    }
  }

  func close() {
    _ = systemClose(readEnd)
    _ = systemClose(writeEnd)
  }
}

private func systemClose(_ descriptor: Int32) -> Int32 {
  #if canImport(Glibc)
    Glibc.close(descriptor)
  #else
    Darwin.close(descriptor)
  #endif
}
