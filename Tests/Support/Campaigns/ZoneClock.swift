import Foundation

/// What the clocks of a time zone show within a span, by Foundation. Moments and wall times are seconds since 1970-01-01T00:00, those of walls
/// without a zone.
public struct ZoneClock: Sendable, Hashable {
  /// How far clocks are ahead of UTC from a moment on, in seconds.
  public struct Offset: Sendable, Hashable {
    public var from: Int
    public var seconds: Int

    public init(from: Int, seconds: Int) {
      self.from = from
      self.seconds = seconds
    }
  }

  /// The earliest first. The first also holds before the span.
  public let offsets: [Offset]

  /// When clocks are put forward or back.
  public var changes: [Int] { offsets.dropFirst().map(\.from) }

  /// - Returns: nil for a zone that Foundation does not know.
  public init?(_ name: String, in span: Range<Int>) {
    guard let zone = TimeZone(identifier: name) else { return nil }
    func seconds(at moment: Int) -> Int { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment))) }
    var offsets = [Offset(from: span.lowerBound, seconds: seconds(at: span.lowerBound))]
    // No zone has two changes in a week.
    for week in stride(from: span.lowerBound, to: span.upperBound, by: 604_800) {
      let now = seconds(at: week + 604_800)
      guard now != offsets[offsets.count - 1].seconds else { continue }
      var (before, after) = (week, week + 604_800)
      while after - before > 1 {
        let middle = (before + after) / 2
        if seconds(at: middle) == now { after = middle } else { before = middle }
      }
      offsets.append(Offset(from: after, seconds: now))
    }
    self.offsets = offsets
  }

  public func offset(at moment: Int) -> Int { (offsets.last { $0.from <= moment } ?? offsets[0]).seconds }

  public func wall(at moment: Int) -> Int { moment + offset(at: moment) }

  /// The minute of the day that clocks show.
  public func minute(at moment: Int) -> Int { (wall(at: moment) % 86_400 + 86_400) % 86_400 / 60 }

  /// When clocks show a wall time: the first time of two, and later by the gap where they skip it.
  public func moment(showing wall: Int) -> Int {
    let shown = offsets.map { wall - $0.seconds }.filter { self.wall(at: $0) == wall }.min()
    if let shown { return shown }
    for (before, after) in zip(offsets, offsets.dropFirst())
    where after.from + before.seconds <= wall && wall < after.from + after.seconds {
      let gap = after.seconds - before.seconds
      return wall + gap - after.seconds
    }
    preconditionFailure("no clock shows \(wall)")
  }
}
