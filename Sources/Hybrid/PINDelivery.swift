public import Registry
public import Sendouts
public import Wire

/// Delivers PINs as single messages to the customer's app of SMS, and texts to phones as pushes, so that the ledger has them.
public struct PINDelivery: Sendable {
  private let messages: MessageService
  private let apps: PushAppCache
  private let makeCall: MakeCall?

  /// Makes a call with the customer's account.
  /// - Returns: whether the account makes calls.
  public typealias MakeCall = @Sendable (PINCall, CustomerID) async throws -> Bool

  /// - Parameter makeCall: nil where no calls can be made.
  public init(_ messages: MessageService, apps: PushAppCache, makeCall: MakeCall? = nil) {
    self.messages = messages
    self.apps = apps
    self.makeCall = makeCall
  }

  /// Whether the customer has something to send SMS with.
  func canSend(_ customer: CustomerID) async throws -> Bool {
    try await apps.apps(customer, appID: PushApp.smsAppID).contains { $0.type == .sms }
  }

  /// Sends an SMS; once this returns, it is committed. A number with a suppression of scope `all` gets no PIN, although its owner may have
  /// asked for it: anybody can ask in its name.
  /// - Parameters:
  ///   - text: what it says; `{{pin}}` stands for the PIN.
  ///   - source: what the PIN is made from.
  ///   - sender: nil for the provider's own.
  func send(
    _ text: String, _ source: PINSource, from sender: String?, to number: PhoneNumber, of customer: CustomerID
  ) async throws {
    guard try await !messages.isSuppressed(number, of: customer) else { throw HybridError.noSMS }
    let lifetime = Int(PINs.lifetime.components.seconds)
    let sent = try await messages.sendPIN(
      customer,
      MessageRequest(
        appId: PushApp.smsAppID, appType: .sms,
        to: MessageTarget(originalId: number.international, deviceToken: number.e164),
        message: MessageBody(
          verbatim: true, alert: text, ttl: lifetime,
          // The provider's account puts the PIN in when it sends. No table has it.
          fields: [UTF8String(SMSText.pinField): .string(source.text)],
          overrides: sender.map { MessageOverrides(sms: SMSOverride(from: $0)) })))
    // The number has opted out, or its provider has said that it is none.
    guard !sent.pushes.isEmpty else { throw HybridError.noSMS }
  }

  /// Sends a push to a phone that is about to be no device of its number any more. No cap stops it: somebody else may have taken the number.
  func notify(_ text: String, _ number: PhoneNumber, token: String, in app: PushApp) async throws {
    _ = try await messages.sendNotice(
      app.customer,
      MessageRequest(
        appId: app.appID, appType: app.type,
        to: MessageTarget(originalId: number.international, deviceToken: token),
        message: MessageBody(verbatim: true, alert: text, ttl: 86_400, priority: .high, trackOpens: false)))
  }

  /// - Throws: `HybridError.noCalls`, also for a number that is suppressed.
  func call(_ call: PINCall, of customer: CustomerID) async throws {
    guard try await !messages.isSuppressed(call.number, of: customer), try await makeCall?(call, customer) == true
    else { throw HybridError.noCalls }
  }
}

/// A call that speaks a PIN.
public struct PINCall: Sendable, Equatable {
  public let number: PhoneNumber
  /// `{{pin}}` stands for the PIN.
  public let text: String
  public let pin: String
  /// Two letters; nil for the provider's own.
  public let language: String?
}
