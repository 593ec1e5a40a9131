public import Delivery
public import Logging
public import Postgres
public import Registry
public import ServiceLifecycle
import Wire

/// The service that runs sendouts from start to end; any number of hubs can run it.
///
/// It learns of sendouts by notifications of `ChangeChannel.sendout`, and asks every second what is due. On
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
      settings: settings, freezes: CustomerPermits(settings.freezesAtOnce), logger: logger)
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
        var rounds = 0
        repeat {
          await scan(tasks, isThorough: rounds % settings.thoroughScanEvery == 0)
          rounds += 1
        } while (try? await Task.sleep(for: settings.scanEvery)) != nil
      }
      group.addTask {
        // By itself, as a series that somebody has locked must not hold up the scan.
        repeat {
          await worker.fillSeries()
        } while (try? await Task.sleep(for: settings.scanEvery * settings.thoroughScanEvery)) != nil
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
      for try await event in pool.notifications(on: [ChangeChannel.sendout.name]) {
        switch event {
        case .mayHaveMissed:
          worker.dispatcher.verifyStream(nil)
          await scan(tasks, isThorough: true)
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

  /// Wakes the task of a running sendout; interrupts that of any other, so that nothing more leaves, and no message is accepted in it.
  private func check(_ task: SendoutTask) async {
    do {
      if try await worker.find(task.key)?.state == .running { return task.wake() }
    } catch {
      logger.warning(
        "could not read a sendout, its sending is interrupted until it can be read",
        metadata: ["sendout": "\(task.key)", "error": "\(error)"])
    }
    worker.dispatcher.verifyStream(task.key)
    task.interrupt()
  }

  /// Adds a task for every sendout that has something to do now. Its statements do not depend on how many customers there are.
  /// - Parameter isThorough: also looks for sendouts that are done but not marked so, and asks for the database's time.
  private func scan(_ tasks: SendoutTasks, isThorough: Bool) async {
    do {
      if isThorough { try await worker.dispatcher.setClock() }
      for (key, lane, isUrgent) in try await Ledger(pool).due() {
        // What is due to a push service that is away waits until that may be tried again.
        guard isUrgent || worker.dispatcher.isOpen(lane, of: key.customer) else { continue }
        if let task = tasks.add(key), !task.isSending(lane) { task.wake() }
      }
      let found = [SendoutQueries.freezing, ScheduleQueries.timed] + (isThorough ? [SendoutQueries.settled] : [])
      for statement in found {
        for row in try await pool.query(statement) {
          let (customer, sendout) = try row.decode(Int64.self, Int64.self)
          let task = tasks.add(SendoutKey(CustomerID(customer), SendoutID(sendout)))
          if statement.name == ScheduleQueries.timed.name { task?.wake() }
        }
      }
    } catch {
      if DatabaseUnavailable(error) != nil { worker.dispatcher.noteOutage() }
      if !Task.isCancelled {
        logger.warning("could not scan for sendouts, retrying later", metadata: ["error": "\(error)"])
      }
    }
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
  /// Most audiences that this hub freezes at the same time, half of them of one customer. Each keeps one of the pool's connections for
  /// transactions.
  public var freezesAtOnce = 2
  /// How often the ledger is asked what is due, which finds sendouts whose notification was missed, too.
  public var scanEvery: Duration = .seconds(1)
  /// Every so many scans, one also looks for sendouts that are done but not marked so; as seldom for series that lack their next time.
  public var thoroughScanEvery = 15
  /// Longest time that a sendout's own task waits; later things are found by the scan.
  public var checkEvery: Duration = .seconds(3)
  /// How long shutdown waits for pushes in flight; those without an outcome by then are uncertain.
  public var shutdownTimeout: Duration = .seconds(25)
  /// Pushes in a batch of the ledger.
  public var batchSize = 1000

  public init() {}
}
