import Locking
public import Logging
public import Postgres
public import Registry
public import ServiceLifecycle
public import Wire

/// The service that makes contacts of imported rows; any number of hubs can run it.
///
/// It asks every second what is due. Each customer's oldest import gets a turn of some steps, customer by customer, so that nobody's file
/// holds up another's: a step that takes minutes, as of a file of millions it may, takes one of the workers, and the other one goes on.
public struct ImportRunner: Service {
  private let work: ImportWork
  private let scanEvery: Duration
  private let logger: Logger

  /// How many steps a customer has in a turn: about a second.
  private static let turn = 16
  /// How many customers can have their turns at the same time. Each takes a connection of the pool.
  private static let workers = 2

  /// - Parameter endpoints: where tokens that are endpoints may lead.
  public init(
    _ pool: Pool, suppressions: SuppressionKey, endpoints: EndpointRules, scanEvery: Duration = .seconds(1),
    logger: Logger
  ) {
    work = ImportWork(pool, suppressions: suppressions, endpoints: endpoints)
    self.scanEvery = scanEvery
    self.logger = logger
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      let busy = Busy()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<Self.workers {
          group.addTask {
            while !Task.isCancelled {
              let hasMore = await round(busy)
              if !hasMore { try? await Task.sleep(for: scanEvery) }
            }
          }
        }
      }
    }
  }

  /// The customers that have their turn.
  private final class Busy: Sendable {
    private let customers = Mutex<Set<CustomerID>>([])

    /// Whether no other worker is at it.
    func take(_ customer: CustomerID) -> Bool { customers.withLock { $0.insert(customer).inserted } }
    func give(_ customer: CustomerID) { _ = customers.withLock { $0.remove(customer) } }
  }

  /// Gives each customer a turn that has none.
  /// - Returns: whether somebody's import has more to do.
  private func round(_ busy: Busy) async -> Bool {
    do {
      var turns: [(CustomerID, [ImportID])] = []
      for (customer, number) in try await work.due() {
        if turns.last?.0 == customer {
          turns[turns.count - 1].1.append(number)
        } else {
          turns.append((customer, [number]))
        }
      }
      var hasMore = false
      for (customer, numbers) in turns where busy.take(customer) {
        if await turn(of: customer, numbers) { hasMore = true }
        busy.give(customer)
      }
      return hasMore
    } catch {
      if !Task.isCancelled {
        logger.warning("could not look for imports, trying again later", metadata: ["error": "\(error)"])
      }
      return false
    }
  }

  /// Goes through a customer's imports in their order. One that has nothing to do now leaves its turn to the next one.
  private func turn(of customer: CustomerID, _ numbers: [ImportID]) async -> Bool {
    var steps = 0
    for number in numbers {
      do {
        while try await work.step(customer, number) {
          steps += 1
          if steps == Self.turn || Task.isCancelled { return true }
        }
      } catch is CancellationError {
        return false
      } catch {
        logger.error(
          "an import's step failed, trying again later",
          metadata: ["customer": "\(customer)", "import": "\(number)", "error": "\(error)"])
      }
    }
    return false
  }
}
