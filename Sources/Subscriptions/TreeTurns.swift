import Synchronization
import Wire

/// Lets one write of each data tree at a time have a connection.
///
/// Writes of a tree follow each other anyway. Those that wait would hold the few connections that transactions of all customers share.
final class TreeTurns: Sendable {
  private struct Tree: Hashable {
    let customer: CustomerID
    let app: String
  }

  private struct State {
    /// Who waits for each tree that is being written, in order.
    var waiting: [Tree: [(id: Int, continuation: CheckedContinuation<Void, any Error>)]] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())

  /// Runs `body` once no other one of the tree runs.
  /// - Throws: `CancellationError` when the task is cancelled while it waits.
  func withTurn<Answer>(
    _ customer: CustomerID, _ app: String, _ body: () async throws -> Answer
  ) async throws -> Answer {
    let tree = Tree(customer: customer, app: app)
    try await begin(tree)
    defer { end(tree) }
    return try await body()
  }

  private func begin(_ tree: Tree) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isFree = state.withLock { state in
          guard state.waiting[tree] == nil else {
            state.waiting[tree]?.append((id, continuation))
            return false
          }
          state.waiting[tree] = []
          return true
        }
        if isFree { continuation.resume() }
        if Task.isCancelled { cancel(id, tree) }
      }
    } onCancel: {
      cancel(id, tree)
    }
  }

  private func end(_ tree: Tree) {
    let next = state.withLock { state in
      guard state.waiting[tree]?.isEmpty == false else {
        state.waiting[tree] = nil
        return nil as CheckedContinuation<Void, any Error>?
      }
      return state.waiting[tree]?.removeFirst().continuation
    }
    next?.resume()
  }

  private func cancel(_ id: Int, _ tree: Tree) {
    let cancelled = state.withLock { state in
      guard let index = state.waiting[tree]?.firstIndex(where: { $0.id == id }) else {
        return nil as CheckedContinuation<Void, any Error>?
      }
      return state.waiting[tree]?.remove(at: index).continuation
    }
    cancelled?.resume(throwing: CancellationError())
  }
}
