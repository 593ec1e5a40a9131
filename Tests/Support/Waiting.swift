/// Returns when `condition` holds. It is asked again and again, with pauses that leave the processor to what is waited for. They grow to
/// five times the first one.
/// - Parameter pause: the first; longer for conditions that cost much, such as a process each.
/// - Throws: `WaitedInVain` after five minutes, so that what never comes is one failed test and not a run without an end.
public func waitUntil(
  every pause: Duration = .milliseconds(10), file: StaticString = #fileID, line: UInt = #line,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(300)
  var next = pause
  while try await !condition() {
    guard .now < end else { throw WaitedInVain(place: "\(file):\(line)") }
    try await Task.sleep(for: next)
    next = min(next * 1.1, pause * 5)
  }
}

struct WaitedInVain: Error, CustomStringConvertible {
  let place: String
  var description: String { "what \(place) waits for did not come in five minutes" }
}
