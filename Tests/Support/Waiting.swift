/// Returns when `condition` holds. It is asked again and again, with pauses that leave the processor to what is waited for.
/// - Parameter pause: longer for conditions that cost much, such as a process each.
public func waitUntil(every pause: Duration = .milliseconds(10), _ condition: () async throws -> Bool) async throws {
  while try await !condition() { try await Task.sleep(for: pause) }
}
