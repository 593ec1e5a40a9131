#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A point on the system's monotonic clock, in nanoseconds.
///
/// Not `ContinuousClock.Instant`: its 128-bit arithmetic would cost time on every statement.
struct MonotonicInstant: Comparable, Hashable, Sendable {
  var nanoseconds: Int64

  static var now: MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  static let distantFuture = MonotonicInstant(nanoseconds: .max)

  static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The point of this clock at which the other one shows `instant`; `distantFuture` for nil.
  init(_ instant: ContinuousClock.Instant?) {
    self = instant.map { .now.advanced(by: ContinuousClock.now.duration(to: $0)) } ?? .distantFuture
  }

  init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  func advanced(by duration: Duration) -> MonotonicInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return overflow ? .distantFuture : MonotonicInstant(nanoseconds: sum)
  }

  /// Whole milliseconds from `earlier` to here, rounded up and never negative, as poll(2) wants them.
  func milliseconds(since earlier: MonotonicInstant) -> Int32 {
    guard self > earlier else { return 0 }
    let (distance, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return overflow ? .max : Int32(clamping: distance / 1_000_000 + 1)
  }
}

extension Duration {
  /// In nanoseconds, capped at 292 years.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }

  var wholeMilliseconds: Int64 { wholeNanoseconds / 1_000_000 }
}
