/// The interface to APNs that Delivery used before `PushAccount`; it goes as soon as nothing calls it.
public typealias APNsProvider = PushServices
public typealias APNsEnvironment = PushEnvironment
public typealias APNsCheck = CredentialVerdict

extension PushServices {
  /// Sends all of `pushes` and yields their outcomes in groups as they come; see `PushAccount.send`.
  public func send(
    _ pushes: [APNsPush], to environment: PushEnvironment, as credentials: APNsCredentials,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    let refused = pushes.indices.compactMap { index in
      pushes[index].refusal.map { PushOutcome(index: index, verdict: $0, sentAt: nil) }
    }
    return apns.send(pushes.map(\.request), refused: refused, to: environment, as: credentials, while: isWanted)
  }

  /// Asks APNs whether it accepts a key for a topic; see `PushAccount.check`.
  public func check(
    topic: String, environment: PushEnvironment, credentials: APNsCredentials
  ) async -> CredentialVerdict {
    await account(appID: topic, credentials: credentials.shared).check(environment)
  }
}
