import FoundationEssentials
public import Postgres
public import Registry
public import Sendouts
public import Wire

/// Accepts messages to telephone numbers: each goes by push to the apps of its app key, or by SMS.
public final class HybridMessages: Sendable {
  private struct AppKey: Hashable {
    let customer: CustomerID
    let key: UUID
  }

  /// An app of Hybrid Messaging, as messages need it.
  private struct App: Sendable {
    let appID: String
    let kind: HybridMessage.Kind
    let hasStatusURL: Bool
  }

  private let database: any Querying
  private let messages: MessageService
  private let apps: PushAppCache
  private let registrations: RegistrationBatcher
  private let known = ExpiringCache<AppKey, App>(timeToLive: .seconds(5), capacity: 10_000)

  public init(
    _ database: any Querying, messages: MessageService, apps: PushAppCache, registrations: RegistrationBatcher
  ) {
    self.database = database
    self.messages = messages
    self.apps = apps
    self.registrations = registrations
  }

  /// Accepts messages. Those that are accepted are committed once this returns, and on their way.
  /// - Parameter allOrNothing: whether one refusal refuses all; then the others have the first refusal too.
  /// - Returns: what became of each, in their order.
  /// - Throws: `RegistryError`; what `DatabaseUnavailable` recognizes. Then some may be committed.
  public func accept(
    _ customer: CustomerID, _ messages: [HybridMessage], allOrNothing: Bool
  ) async throws -> [HybridAcceptance] {
    var answers: [HybridAcceptance] = []
    for message in messages { answers.append(try await accept(customer, message)) }
    return answers
  }

  private func accept(_ customer: CustomerID, _ message: HybridMessage) async throws -> HybridAcceptance {
    guard let key = message.appKey else { return .refused(.noProvider) }
    guard let app = try await app(customer, key) else { return .refused(.appKeyUnknown) }
    do {
      _ = try await messages.send(
        customer,
        MessageRequest(
          appIds: [app.appID], to: MessageTarget(originalId: message.number.international),
          message: MessageBody(alert: message.text), reference: message.reference))
      return .accepted(parts: 1)
    } catch SendoutError.recipientUnknown {
      return .refused(.noProvider)
    }
  }

  private func app(_ customer: CustomerID, _ key: UUID) async throws -> App? {
    do {
      return try await known.value(AppKey(customer: customer, key: key)) { [database] in
        guard let row = try await database.query(HybridMessageQueries.app, customer.rawValue, key).first else {
          throw Unknown()
        }
        let (appID, kind, hasStatusURL) = try row.decode(String.self, String.self, Bool.self)
        return App(appID: appID, kind: HybridMessage.Kind(rawValue: kind) ?? .standard, hasStatusURL: hasStatusURL)
      }
    } catch is Unknown {
      return nil
    }
  }

  /// Not remembered, so that a new key works at once.
  private struct Unknown: Error {}
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum HybridStatements {
  package static let all: [Statement] =
    HybridMessageQueries.all + HybridAppQueries.all + PhoneRegistrationQueries.all + PhoneMessageQueries.all
}
