import NIOCore

/// Finds the requests of a connection that were overtaken: others that began well after them were answered a while ago. Their
/// responses are lost, most likely, and they only hold streams that others need.
struct Overtaking {
  /// The newest stream answered in a span of time.
  private struct Mark {
    var stream: Int
    var time: NIODeadline
  }

  private let delay: TimeAmount
  /// Oldest first.
  private var marks: [Mark] = []
  /// The newest stream that was answered.
  private var newest = 0
  private var nextMark = NIODeadline.uptimeNanoseconds(0)

  /// Responses come in another order than requests, but a few requests later at most. Stream ids are two apart.
  private static let distance = 2 * 16

  /// - Parameter delay: how long after the later responses a request is overtaken.
  init(after delay: TimeAmount) { self.delay = delay }

  mutating func answered(_ stream: Int) { newest = max(newest, stream) }

  /// To be called after everything that was received at once.
  /// - Parameter oldest: the oldest stream that is open; asked for at every quarter of the delay only.
  mutating func received(oldest: @autoclosure () -> Int?, now: NIODeadline) {
    guard newest > marks.last?.stream ?? 0 else { return }
    // A handful of marks is enough, however many responses there are.
    if now >= nextMark {
      nextMark = now + .nanoseconds(delay.nanoseconds / 4)
      guard let oldest = oldest(), oldest <= newest - Self.distance else { return }
      marks.append(Mark(stream: newest, time: now))
    } else if let last = marks.indices.last {
      marks[last] = Mark(stream: newest, time: now)
    }
  }

  /// When `overtaken` may have an answer.
  var nextDeadline: NIODeadline { marks.first.map { $0.time + delay } ?? .distantFuture }

  /// The newest stream that is overtaken by now, once. All older ones are overtaken, too.
  mutating func overtaken(now: NIODeadline) -> Int? {
    var overtaken: Int?
    while let first = marks.first, now >= first.time + delay {
      overtaken = first.stream - Self.distance
      marks.removeFirst()
    }
    return overtaken
  }
}
