import Foundation
import Postgres
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What must not outlive the test process.
enum AtExit {
  private static let clusters = Mutex<[(cluster: PrivateCluster, directory: TemporaryDirectory)]>([])

  static func stop(_ cluster: PrivateCluster, removing directory: TemporaryDirectory) {
    let isFirst = clusters.withLock { clusters in
      clusters.append((cluster, directory))
      return clusters.count == 1
    }
    if isFirst { atexit { AtExit.run() } }
  }

  /// The data is not needed any more, so the server is not given time for an orderly end; but it must have ended before its
  /// directory can go.
  private static func run() {
    for (cluster, directory) in clusters.withLock({ $0 }) {
      cluster.signalStop()
      for _ in 0..<500 where cluster.processID != nil { usleep(10_000) }
      directory.remove()
    }
  }
}
