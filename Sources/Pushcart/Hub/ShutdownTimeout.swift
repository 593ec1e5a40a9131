import ServiceLifecycle

/// A service that has so long for its graceful end, and is then cancelled without that being an error.
struct ShutdownTimeout<Limited: Service>: Service {
  let service: Limited
  let limit: Duration

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await service.run() }
      group.addTask {
        try await gracefulShutdown()
        try await Task.sleep(for: limit)
      }
      try await group.next()
      group.cancelAll()
      while await group.nextResult() != nil {}
    }
  }
}
