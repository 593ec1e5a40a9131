import CoreMetrics
import Locking

/// A number that only grows during the life of the process.
final class CounterSeries: CounterHandler, FloatingPointCounterHandler {
  private let whole = Atomic<Int64>(0)
  /// Bits of a Double: the sum of fractional increments.
  private let fraction = Atomic<UInt64>(0)

  var value: Double { Double(whole.load(ordering: .relaxed)) + Double(bitPattern: fraction.load(ordering: .relaxed)) }

  func increment(by amount: Int64) { whole.wrappingAdd(amount, ordering: .relaxed) }
  func increment(by amount: Double) { fraction.add(amount) }
  func reset() {
    whole.store(0, ordering: .relaxed)
    fraction.store(0, ordering: .relaxed)
  }
}

/// A number that goes up and down.
final class GaugeSeries: MeterHandler, RecorderHandler {
  private let bits = Atomic<UInt64>(0)

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
  func increment(by amount: Double) { bits.add(amount) }
  func decrement(by amount: Double) { bits.add(-amount) }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
}

/// Counts of values by bucket, with fixed bounds. A timer's values are seconds.
final class HistogramSeries: TimerHandler, RecorderHandler {
  /// Seconds, from half a millisecond, about a PostgreSQL commit, to the longest request.
  static let seconds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
  /// Counts, such as the rows of a batch.
  static let sizes = [1.0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000]

  /// An `Atomic` cannot stand in an array by itself.
  private final class Cell: Sendable { let count = Atomic<Int>(0) }

  let bounds: [Double]
  private let cells: [Cell]
  private let sum = Atomic<UInt64>(0)

  init(bounds: [Double]) {
    self.bounds = bounds
    cells = (0...bounds.count).map { _ in Cell() }
  }

  /// The count of each bucket by itself, the last one for values above every bound, and the sum of all values.
  var reading: (counts: [Int], sum: Double) {
    (cells.map { $0.count.load(ordering: .relaxed) }, Double(bitPattern: sum.load(ordering: .relaxed)))
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) {
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    cells[bucket].count.wrappingAdd(1, ordering: .relaxed)
    sum.add(value)
  }
}

extension Atomic where Value == UInt64 {
  /// Adds to a Double whose bits are kept here.
  fileprivate func add(_ amount: Double) {
    var seen = load(ordering: .relaxed)
    while true {
      let sum = (Double(bitPattern: seen) + amount).bitPattern
      let (exchanged, now) = weakCompareExchange(expected: seen, desired: sum, ordering: .relaxed)
      if exchanged { return }
      seen = now
    }
  }
}
