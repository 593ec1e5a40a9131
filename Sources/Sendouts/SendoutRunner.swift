public import Delivery
public import Logging
public import Postgres
public import Registry
public import ServiceLifecycle
import Wire

/// The service that runs sendouts from start to end; any number of hubs can run it.
///
/// It learns of sendouts by NOTIFY on `pushcart_sendout`, and scans all customers periodically for missed notifications. On
/// graceful shutdown it claims nothing more, waits for pushes in flight, and releases the rest. When its task is cancelled it
/// drops everything, as if the hub had been killed.
public struct SendoutRunner: Service {
  private let pool: Pool
  private let worker: SendoutWorker
  private let settings: RunnerSettings
  private let logger: Logger

  public init(
    _ pool: Pool, dispatcher: Dispatcher, vault: Vault, settings: RunnerSettings = RunnerSettings(), logger: Logger
  ) {
    self.pool = pool
    self.settings = settings
    self.logger = logger
    worker = SendoutWorker(
      pool: pool, dispatcher: dispatcher, vault: vault, credentials: PushCredentialVault(pool, vault: vault),
      settings: settings, semaphore: AsyncSemaphore(settings.sendoutsAtOnce), logger: logger)
  }

  public func run() async throws {
    let tasks = SendoutTasks()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await work(tasks) }
      group.addTask {
        guard (try? await gracefulShutdown()) != nil else { return }
        tasks.close()
        guard (try? await Task.sleep(for: settings.shutdownTimeout)) != nil else { return }
        logger.warning(
          "shutdown timeout: some pushes in flight have no outcome yet; a hub continues with them when their leases expire",
          metadata: ["timeout": "\(settings.shutdownTimeout)"])
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Runs until `tasks` is closed and every task has ended.
  private func work(_ tasks: SendoutTasks) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await listen(tasks) }
      group.addTask {
        repeat { await scan(tasks) } while (try? await Task.sleep(for: settings.scanEvery)) != nil
      }
      await withDiscardingTaskGroup { running in
        for await task in tasks.added {
          running.addTask { await run(task, of: tasks) }
        }
      }
      group.cancelAll()
    }
  }

  // MARK: Finding sendouts

  private func listen(_ tasks: SendoutTasks) async {
    do {
      for try await event in pool.notifications(on: ["pushcart_sendout"]) {
        switch event {
        case .mayHaveMissed:
          await scan(tasks)
          for task in tasks.all { await check(task) }
        case .notification(_, let payload):
          if let task = SendoutKey(payload).flatMap({ tasks.add($0) }) { await check(task) }
        }
      }
    } catch {
      logger.error(
        "stopped listening for sendouts, which are now found by the periodic scan only", metadata: ["error": "\(error)"]
      )
    }
  }

  /// Wakes the task of a running sendout; interrupts that of any other, so that nothing more leaves.
  private func check(_ task: SendoutTask) async {
    do {
      if try await worker.find(task.key)?.state == .running { return task.wake() }
    } catch {
      logger.warning(
        "could not read a sendout, its sending is interrupted",
        metadata: ["sendout": "\(task.key)", "error": "\(error)"])
    }
    task.interrupt()
  }

  /// Adds a task for every sendout that has something to do, a few customers at a time.
  private func scan(_ tasks: SendoutTasks) async {
    do {
      let customers = try await pool.query(SendoutQueries.customers).map { try $0.decode(Int64.self) }
      for start in stride(from: 0, to: customers.count, by: 50) {
        try await withThrowingTaskGroup(of: [SendoutKey].self) { group in
          for customer in customers[start..<min(start + 50, customers.count)] {
            group.addTask { try await active(CustomerID(customer)) }
          }
          for try await keys in group { for key in keys { tasks.add(key) } }
        }
      }
    } catch {
      if !Task.isCancelled {
        logger.warning("could not scan for sendouts, retrying later", metadata: ["error": "\(error)"])
      }
    }
  }

  /// The customer's sendouts that are to be frozen or sent, and those with batches whose lease has expired.
  private func active(_ customer: CustomerID) async throws -> [SendoutKey] {
    async let lost = Ledger(pool).lost(customer)
    return try await pool.query(SendoutQueries.active, customer.rawValue).map {
      SendoutKey(customer, SendoutID(try $0.decode(Int64.self)))
    } + lost
  }

  // MARK: Running them

  private func run(_ task: SendoutTask, of tasks: SendoutTasks) async {
    var consecutiveFailures = 0
    while !task.isStopped, !Task.isCancelled {
      do {
        switch try await worker.step(task, consecutiveFailures: &consecutiveFailures) {
        case .done: if tasks.remove(task) { return }
        case .continue(let delay): if delay > .zero { await task.sleep(atMost: delay) }
        }
      } catch is CancellationError {
        return
      } catch {
        logger.error("sendout step failed, retrying", metadata: ["sendout": "\(task.key)", "error": "\(error)"])
        await task.sleep(atMost: settings.checkEvery)
      }
    }
  }
}

/// How the runner works. The defaults are for production; tests choose smaller values.
public struct RunnerSettings: Sendable {
  /// Most sendouts that this hub sends at the same time; others wait. Each holds a few thousand pushes in memory.
  public var sendoutsAtOnce = 8
  /// How often the tables are scanned for sendouts whose notification was missed.
  public var scanEvery: Duration = .seconds(15)
  /// Longest time between two checks of a sendout that waits for retries or for the leases of other hubs.
  public var checkEvery: Duration = .seconds(3)
  /// How long shutdown waits for pushes in flight; those without an outcome by then are uncertain.
  public var shutdownTimeout: Duration = .seconds(25)
  /// Pushes in a batch of the ledger.
  public var batchSize = 1000

  public init() {}
}
