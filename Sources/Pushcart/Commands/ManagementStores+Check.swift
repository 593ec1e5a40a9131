import Delivery
import Logging
import Providers
import Registry
import Wire

extension ManagementStores {
  /// Asks the push service about an app's credentials; `nil` if it has none.
  func check(_ app: PushApp) async throws -> PushAppCheckReply? {
    var settings = settings.apns
    // Somebody waits for the answer.
    settings.queueTimeout = .seconds(10)
    let apns = try APNsProvider(settings, logger: logger)
    let credentials = CredentialCheck(keys: SigningCredentialVault(pool, vault: try vault), apns: apns)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await apns.run() }
      defer { group.cancelAll() }
      return try await credentials.check(app)
    }
  }
}
