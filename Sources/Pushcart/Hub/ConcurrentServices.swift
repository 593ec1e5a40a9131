import ServiceLifecycle

/// Services that are stopped at the same moment, where a group stops one after the other: none waits for another's stragglers.
struct ConcurrentServices: Service {
  let members: [any Service]

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in members { group.addTask { try await member.run() } }
      try await group.waitForAll()
    }
  }
}
