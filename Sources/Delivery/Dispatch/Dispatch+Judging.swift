import Logging
import Providers
import Registry
import Synchronization

// What a batch's outcomes taken together say of the app's credentials and its devices.
extension Dispatch {
  /// - Returns: whether all of it can be written.
  func judge(_ tally: BatchRun.Tally, of run: BatchRun) async -> Bool {
    var isComplete = !tally.isIncomplete
    for environment in APNsEnvironment.allCases {
      let dead = tally.dead.filter { $0.environment == environment }
      let answered = tally.answered[environment] ?? 0
      let (mayRetire, hasOpened) = circuitBreakers.withLock { circuitBreakers in
        let wasOpen = circuitBreakers[environment]?.isOpen ?? false
        let mayRetire = circuitBreakers[environment]?.judge(answered: answered, dead: dead.count) ?? true
        return (mayRetire, !mayRetire && !wasOpen)
      }
      if hasOpened { await alarm(dead, of: answered, in: environment) }
      if !mayRetire, let reason = wrongTopic(dead, of: answered) {
        // Not one of them was ever going to be taken, until the app is mended.
        refuse(dead.map(\.push), reason, in: environment, of: run)
      } else if mayRetire {
        if let settlements = await retire(dead, of: run) {
          outcomeWriter.add(settlements, room: 0)
        } else {
          isComplete = false
        }
      } else {
        outcomeWriter.add(dead.map { run.outcomePolicy.settlement(of: $0, deviceIsKept: false) }, room: 0)
      }
    }
    return isComplete
  }

  /// Tokens that belong to other apps look dead one by one; most of a batch of them say that the appId is wrong.
  /// - Returns: the push service's word for it, if so.
  private func wrongTopic(_ dead: [DeadToken], of answered: Int) -> String? {
    let foreign = dead.filter { $0.cause == .wrongApp }
    return foreign.count * 2 > answered ? foreign.first?.reason : nil
  }

  private func alarm(_ dead: [DeadToken], of answered: Int, in environment: APNsEnvironment) async {
    let reason =
      "\(dead.count) of \(answered) pushes to APNs' \(environment.rawValue) environment came back as "
      + "\(dead.first?.reason ?? "dead") at once; no device was retired for it. Are appId, teamId and keyId of this app, "
      + "and the devices of this environment?"
    logger.warning("the fuse has blown", metadata: ["environment": "\(environment.rawValue)", "reason": "\(reason)"])
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("raise alarm") {
      try await alarms.raise(self.order.key.customer, self.order.app, reason: reason)
    }
  }

  /// The alarm is over when pushes are accepted and nothing is wrong any more.
  func clearAlarm() async {
    guard hasAccepted.load(ordering: .relaxed), !environmentStatus.hasRefused,
      circuitBreakers.withLock({ $0.values.allSatisfy { !$0.isOpen } })
    else { return }
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("clear the alarm") { try await alarms.clear(self.order.key.customer, self.order.app) }
  }
}
