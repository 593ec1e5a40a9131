import CoreMetrics
import FoundationEssentials
import Locking

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The system's figures of this process, under the names that Prometheus clients share. They are read on demand.
final class ProcessFigures: Sendable {
  private let memory = Meter(label: "process_resident_memory_bytes")
  private let processor = FloatingPointCounter(label: "process_cpu_seconds_total")
  private let processorSeconds = Mutex(0.0)
  private let files = Meter(label: "process_open_fds")
  private let filesAllowed = Meter(label: "process_max_fds")
  private let start = Meter(label: "process_start_time_seconds")

  init() {
    start.set(Date().timeIntervalSince1970)
  }

  func read() {
    let seconds = Double(clock()) / 1e6
    processorSeconds.withLock {
      processor.increment(by: max(0, seconds - $0))
      $0 = max($0, seconds)
    }
    if let pages = Self.residentPages() { memory.set(pages * Int(getpagesize())) }
    if let count = Self.openFiles() { files.set(count) }
    filesAllowed.set(OpenFiles.limit)
  }

  /// Second number of `/proc/self/statm` (proc(5)).
  private static func residentPages() -> Int? {
    guard let file = fopen("/proc/self/statm", "r") else { return nil }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 128)
    let count = fread(&line, 1, line.count, file)
    let words = String(decoding: line.prefix(count), as: UTF8.self).split(separator: " ")
    return words.count > 1 ? Int(words[1]) : nil
  }

  private static func openFiles() -> Int? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count - 3  // ".", ".." and the folder itself
  }
}
