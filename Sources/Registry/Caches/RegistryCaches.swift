public import Postgres
public import ServiceLifecycle

/// Keeps the caches of this hub honest: forgets what another hub, or the command line, has changed.
public struct RegistryCaches: Service {
  private let pool: Pool
  private let accessKeys: AccessKeyCache
  private let pushApps: PushAppCache

  public init(_ pool: Pool, accessKeys: AccessKeyCache, pushApps: PushAppCache) {
    self.pool = pool
    self.accessKeys = accessKeys
    self.pushApps = pushApps
  }

  /// Listens until the service group, or the task, ends. When a word may have been missed, everything is forgotten.
  public func run() async throws {
    let channels = [RegistryChannel.accessKey, .pushApp]
    let notifications = pool.notifications(on: channels.map(\.rawValue))
    for try await event in notifications.cancelOnGracefulShutdown() {
      switch event {
      case .mayHaveMissed:
        accessKeys.flush()
        pushApps.flush()
      case .notification(RegistryChannel.accessKey.rawValue, _): accessKeys.flush()
      case .notification(RegistryChannel.pushApp.rawValue, _): pushApps.flush()
      case .notification: break
      }
    }
  }
}
