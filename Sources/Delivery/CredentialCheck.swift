public import Content
public import Providers
public import Registry
public import Wire

/// Asks a push service whether it accepts an app's credentials, without sending anything to a phone.
public struct CredentialCheck: Sendable {
  private let credentials: PushCredentialVault
  private let services: PushServices
  private let timeout: Duration

  /// - Parameter timeout: how long the push service may take; somebody waits for the result.
  public init(_ credentials: PushCredentialVault, services: PushServices, timeout: Duration = .seconds(15)) {
    self.credentials = credentials
    self.services = services
    self.timeout = timeout
  }

  /// Asks all of the service's environments, concurrently.
  /// - Returns: `nil` if the app has no credentials to ask about.
  /// - Throws: `RegistryError.sealed` when none of the hub's master keys opens them.
  public func check(_ app: PushApp) async throws -> PushAppCheckReply? {
    guard let stored = try await credentials.credentials(for: app) else { return nil }
    let account = services.account(appID: app.appID, of: app.customer, kind: app.kind, credentials: stored)
    let checks = await withTaskGroup(of: (Int, PushAppCheckReply.Check).self) { group in
      for (index, environment) in account.environments.enumerated() {
        group.addTask { (index, await ask(environment, account)) }
      }
      return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
    try? await credentials.note(checks, of: app)
    if checks.contains(where: { $0.verdict == .accepted }) { try? await credentials.announceAccepted(app) }
    return PushAppCheckReply(pushAppId: app.id, appId: app.appID, checks: checks)
  }

  private func ask(_ environment: PushEnvironment, _ account: any PushAccount) async -> PushAppCheckReply.Check {
    let name: PushAppCheckReply.Check.Environment = environment == .production ? .production : .sandbox
    return switch await answer(environment, account) {
    case .accepted: .init(environment: name, verdict: .accepted)
    case .refused(let reason):
      .init(environment: name, verdict: .refused, reason: reason, advice: account.advice(on: reason))
    case .unasked(let reason): .init(environment: name, verdict: .unasked, reason: reason)
    case .unreachable(let reason): .init(environment: name, verdict: .unreachable, reason: reason)
    }
  }

  /// The service's answer, or `unreachable` when it takes too long.
  private func answer(_ environment: PushEnvironment, _ account: any PushAccount) async -> CredentialVerdict {
    await withTaskGroup(of: CredentialVerdict.self) { group in
      group.addTask { await account.check(environment) }
      group.addTask {
        try? await Task.sleep(for: timeout)
        return .unreachable(reason: "NoAnswerInTime")
      }
      defer { group.cancelAll() }
      return await group.next() ?? .unreachable(reason: .hub(.cancelled))
    }
  }
}

extension ProviderTokenVault: ProviderTokenStore {}

extension MessageTemplate {
  /// Checks that the message's overrides can be sent, and that its smallest form fits the push services of these platforms before any
  /// variable or link is filled in.
  /// - Throws: `ContentError.invalid` with the field `message`, one of its overrides, or a translation.
  public func checkForm(for types: [AppType]) throws(ContentError) {
    try checkEach { template throws(ContentError) in try template.checkOwnForm(for: types) }
  }

  private func checkOwnForm(for types: [AppType]) throws(ContentError) {
    if let problem = overrides.flatMap(PushServices.problem(in:)) {
      throw .invalid(field: "message.overrides.\(problem.field)", problem: problem.problem)
    }
    guard !types.isEmpty else { return }
    let message = rendered(for: PageContext())
    for type in types {
      if case let (bytes, limit) = PushServices.payloadSize(of: message, for: type), bytes <= limit { continue }
      let (bytes, limit) = PushServices.payloadSize(of: message.smallest, for: type)
      if bytes <= limit { continue }
      throw .invalid(
        field: "message",
        problem: """
          makes \(bytes) bytes in its smallest form before any variable or link is filled in; the push service takes \(limit)
          """)
    }
  }
}

extension MessageChoices {
  /// Checks the message and each variant as `MessageTemplate.checkForm` does.
  package func checkForm(for types: [AppType]) throws(ContentError) {
    try checkEach { template throws(ContentError) in try template.checkForm(for: types) }
  }
}
