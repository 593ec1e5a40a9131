public import Providers
public import Registry
public import Wire

/// A customer's provider of SMS beside the sending itself: its settings, its status reports, and calls.
public struct SMSChannel: Sendable {
  private let apps: PushAppCache
  private let credentials: PushCredentialVault
  private let services: PushServices
  private let reports: DeliveryReports
  private let isSigned: @Sendable (SMSReference, CustomerID) -> Bool

  /// - Parameter isSigned: whether the hub gave that reference to the customer's provider. Reports of others are left out.
  public init(
    apps: PushAppCache, credentials: PushCredentialVault, services: PushServices, reports: DeliveryReports,
    isSigned: @escaping @Sendable (SMSReference, CustomerID) -> Bool
  ) {
    self.apps = apps
    self.credentials = credentials
    self.services = services
    self.reports = reports
    self.isSigned = isSigned
  }

  /// The customer's account; nil if there is none.
  /// - Throws: `RegistryError.sealed` when none of the hub's master keys opens it.
  private func account(of customer: CustomerID) async throws -> (app: PushApp, account: SMSAccount)? {
    let app: PushApp
    do {
      app = try await apps.resolve(customer, appID: PushApp.smsAppID, type: .sms)
    } catch RegistryError.appUnknown { return nil }
    guard case .sms(let account) = try await credentials.credentials(for: app) else { return nil }
    return (app, account)
  }

  // MARK: Status reports

  /// What a request with status reports held.
  public enum Receipt: Sendable, Hashable {
    /// It was taken: so many pushes are now delivered, or failed for good.
    case recorded(Int)
    /// It is in no form of the provider's.
    case malformed
    /// The provider has not signed it.
    case unsigned
    /// The customer has no provider.
    case noProvider
  }

  /// Records the reports in a request of the customer's provider.
  /// - Throws: as `DeliveryReports.record`.
  public func take(_ request: SMSStatusRequest, of customer: CustomerID) async throws -> Receipt {
    guard let (app, account) = try await account(of: customer) else { return .noProvider }
    let received: [SMSStatusReport]
    do throws(SMSStatusRefusal) {
      received = try SMSStatusReport.read(request, of: account)
    } catch {
      return error == .unsigned ? .unsigned : .malformed
    }
    let final = received.filter { isSigned($0.reference, customer) }.compactMap { DeliveryReport($0, app: app.id) }
    return .recorded(final.isEmpty ? 0 : try await reports.record(customer, final).count)
  }

  // MARK: Calls

  /// Speaks a code to a number.
  /// - Parameters:
  ///   - text: what is said; `{{pin}}` stands for the code, which is said digit by digit.
  ///   - language: as in `nl` or `nl-NL`; nil for English.
  /// - Returns: whether the provider has placed the call; nil if the customer has none that makes calls.
  public func call(
    _ number: PhoneNumber, text: String, code: String, language: String?, of customer: CustomerID
  ) async throws -> Bool? {
    guard let account = try await account(of: customer)?.account else { return nil }
    let call = VoiceCall(to: number, text: text, code: code, language: language)
    return await services.call(call, as: account, of: customer).map { $0 == .accepted }
  }
}

extension DeliveryReport {
  /// - Returns: nil for a report that is not the last word.
  init?(_ report: SMSStatusReport, app: PushAppID) {
    switch report.outcome {
    case .pending: return nil
    case .delivered:
      self.init(sendout: report.reference.sendout, push: report.reference.push, app: app, isDelivered: true)
    case .failed(let reason):
      self.init(
        sendout: report.reference.sendout, push: report.reference.push, app: app, isDelivered: false, reason: reason,
        retirement: report.cause?.invalidationType)
    }
  }
}
