import Locking
public import Logging
public import Postgres
public import Registry
public import ServiceLifecycle
public import Wire

/// The service that makes contacts of imported rows; any number of hubs can run it.
///
/// It asks every second what is due. Each customer's oldest import gets a turn of some steps, customer by customer, so that nobody's file
/// holds up another's.
public struct ImportRunner: Service {
  private let work: ImportWork
  private let scanEvery: Duration
  private let logger: Logger

  /// How many steps a customer has in a turn: about a second.
  private static let turn = 16
  /// How many customers have their turns at the same time. Each takes a connection of the pool.
  private static let atOnce = 2

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
      while !Task.isCancelled {
        let hasMore = await round()
        if !hasMore { try? await Task.sleep(for: scanEvery) }
      }
    }
  }

  /// Gives each customer a turn.
  /// - Returns: whether somebody's import has more to do.
  private func round() async -> Bool {
    do {
      var turns: [(CustomerID, [ImportID])] = []
      for (customer, number) in try await work.due() {
        if turns.last?.0 == customer {
          turns[turns.count - 1].1.append(number)
        } else {
          turns.append((customer, [number]))
        }
      }
      return await withTaskGroup(of: Bool.self) { group in
        var hasMore = false
        for (place, (customer, numbers)) in turns.enumerated() {
          if place >= Self.atOnce, await group.next() == true { hasMore = true }
          group.addTask { await turn(of: customer, numbers) }
        }
        for await more in group where more { hasMore = true }
        return hasMore
      }
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
