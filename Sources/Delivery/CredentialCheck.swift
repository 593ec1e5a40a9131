public import Providers
public import Registry
public import Wire

/// Asks a push service whether it accepts an app's credentials, without sending anything to a phone.
public struct CredentialCheck: Sendable {
  private let keys: SigningCredentialVault
  private let apns: APNsProvider
  private let timeout: Duration

  /// - Parameter timeout: how long the push service may take; somebody waits for the result.
  public init(keys: SigningCredentialVault, apns: APNsProvider, timeout: Duration = .seconds(15)) {
    self.keys = keys
    self.apns = apns
    self.timeout = timeout
  }

  /// Asks both of APNs' environments, concurrently.
  /// - Returns: `nil` if the app has no credentials to ask about.
  /// - Throws: `RegistryError.sealed` when none of the hub's master keys opens them.
  public func check(_ app: PushApp) async throws -> PushAppCheckReply? {
    guard let stored = try await keys.credentials(for: app) else { return nil }
    let credentials = APNsCredentials(
      teamID: stored.teamID, keyID: stored.keyID, signingKey: stored.signingKey.text)
    async let production = ask(.production, app, credentials)
    async let sandbox = ask(.sandbox, app, credentials)
    return PushAppCheckReply(pushAppId: app.id, appId: app.appID, checks: [await production, await sandbox])
  }

  private func ask(
    _ environment: APNsEnvironment, _ app: PushApp, _ credentials: APNsCredentials
  ) async -> PushAppCheckReply.Check {
    let name: PushAppCheckReply.Check.Environment = environment == .production ? .production : .sandbox
    return switch await answer(environment, topic: app.appID, credentials) {
    case .accepted: .init(environment: name, verdict: .accepted)
    case .refused(let reason): .init(environment: name, verdict: .refused, reason: reason)
    case .unreachable(let reason): .init(environment: name, verdict: .unreachable, reason: reason)
    }
  }

  /// APNs' answer, or `unreachable` when it takes too long.
  private func answer(
    _ environment: APNsEnvironment, topic: String, _ credentials: APNsCredentials
  ) async -> APNsCheck {
    await withTaskGroup(of: APNsCheck.self) { group in
      group.addTask { await apns.check(topic: topic, environment: environment, credentials: credentials) }
      group.addTask {
        try? await Task.sleep(for: timeout)
        return .unreachable(reason: "NoAnswerInTime")
      }
      defer { group.cancelAll() }
      return await group.next() ?? .unreachable(reason: "Cancelled")
    }
  }
}
