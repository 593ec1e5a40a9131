public import Delivery
public import Logging
public import Postgres
public import Registry
public import ServiceLifecycle
import Wire

/// The service that brings sendouts from their start to their end, on as many hubs as there are.
///
/// It hears of sendouts by NOTIFY on `pushcart_sendout`, and looks at every customer now and then for what no notification
/// told of. When the service group shuts down it claims nothing more, lets what is on its way be answered and settled, and
/// gives the rest back; when its task is cancelled it drops everything, as if it had been killed.
public struct SendoutRunner: Service {
  private let pool: Pool
  private let conductor: SendoutWorker
  private let settings: RunnerSettings
  private let logger: Logger

  public init(
    _ pool: Pool, dispatcher: Dispatcher, vault: Vault, settings: RunnerSettings = RunnerSettings(), logger: Logger
  ) {
    self.pool = pool
    self.settings = settings
    self.logger = logger
    conductor = SendoutWorker(
      pool: pool, dispatcher: dispatcher, vault: vault, credentials: SigningCredentialVault(pool, vault: vault),
      settings: settings, semaphore: AsyncSemaphore(settings.sendoutsAtOnce), logger: logger)
  }

  public func run() async throws {
    let sendouts = ActiveSendouts()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await work(on: sendouts) }
      group.addTask {
        guard (try? await gracefulShutdown()) != nil else { return }
        sendouts.close()
        guard (try? await Task.sleep(for: settings.grace)) != nil else { return }
        logger.warning(
          "not all pushes under way could settle in time; the rest are looked after once their leases are over",
          metadata: ["grace": "\(settings.grace)"])
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Until `sendouts` is closed and everything under way has come to an end.
  private func work(on sendouts: ActiveSendouts) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await listen(sendouts) }
      group.addTask {
        repeat { await scan(sendouts) } while (try? await Task.sleep(for: settings.scanEvery)) != nil
      }
      await withDiscardingTaskGroup { tasks in
        for await sendout in sendouts.wanted {
          tasks.addTask { await lookAfter(sendout, among: sendouts) }
        }
      }
      group.cancelAll()
    }
  }

  // MARK: Hearing of sendouts

  private func listen(_ sendouts: ActiveSendouts) async {
    do {
      for try await event in pool.notifications(on: ["pushcart_sendout"]) {
        switch event {
        case .mayHaveMissed:
          await scan(sendouts)
          for sendout in sendouts.all { await check(sendout) }
        case .notification(_, let payload):
          if let sendout = SendoutKey(payload).flatMap({ sendouts.want($0) }) { await check(sendout) }
        }
      }
    } catch {
      logger.error("no notifications any more", metadata: ["error": "\(error)"])
    }
  }

  /// Whether pushes of it may still leave; if not, none do from now on.
  private func check(_ sendout: ActiveSendout) async {
    do {
      if try await conductor.find(sendout.key)?.state == .running { return sendout.wake() }
    } catch {
      logger.warning("cannot look at a sendout", metadata: ["sendout": "\(sendout.key)", "error": "\(error)"])
    }
    sendout.interrupt()
  }

  /// Asks for every customer what there is to do, a few at a time.
  private func scan(_ sendouts: ActiveSendouts) async {
    do {
      let customers = try await pool.query(SendoutQueries.customers).map { try $0.decode(Int64.self) }
      for start in stride(from: 0, to: customers.count, by: 50) {
        try await withThrowingTaskGroup(of: [SendoutKey].self) { group in
          for customer in customers[start..<min(start + 50, customers.count)] {
            group.addTask { try await active(CustomerID(customer)) }
          }
          for try await keys in group { for key in keys { sendouts.want(key) } }
        }
      }
    } catch {
      if !Task.isCancelled { logger.warning("cannot look for sendouts", metadata: ["error": "\(error)"]) }
    }
  }

  /// The customer's sendouts that are to be frozen or sent, and those that a dead hub has left something of in mid-air.
  private func active(_ customer: CustomerID) async throws -> [SendoutKey] {
    async let lost = Ledger(pool).lost(customer)
    return try await pool.query(SendoutQueries.active, customer.rawValue).map {
      SendoutKey(customer, SendoutID(try $0.decode(Int64.self)))
    } + lost
  }

  // MARK: Looking after them

  private func lookAfter(_ sendout: ActiveSendout, among sendouts: ActiveSendouts) async {
    var consecutiveFailures = 0
    while !sendout.isStopped, !Task.isCancelled {
      do {
        switch try await conductor.step(sendout, consecutiveFailures: &consecutiveFailures) {
        case .done: if sendouts.remove(sendout) { return }
        case .look(let delay): if delay > .zero { await sendout.sleep(atMost: delay) }
        }
      } catch is CancellationError {
        return
      } catch {
        logger.error("a sendout stumbled", metadata: ["sendout": "\(sendout.key)", "error": "\(error)"])
        await sendout.sleep(atMost: settings.lookEvery)
      }
    }
  }
}
