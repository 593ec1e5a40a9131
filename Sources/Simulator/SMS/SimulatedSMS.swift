import FoundationEssentials
import Locking
import Wire

/// A simulation of CM Business Messaging (JSON), CM's voice OTP, and Twilio's messages and calls.
///
/// No real phone gets anything; the phone page shows messages and calls.
public final class SimulatedSMS: PlainService {
  static let service = PushServiceName.sms
  static let messagePath = "/v1.0/message"
  static let callPath = "/voiceapi/v2/OTP"
  static let twilioPath = "/2010-04-01/Accounts/"

  public let traffic: ServiceTraffic<Details, Refusal>
  private let state: Mutex<State>

  private struct State {
    var accounts: SMSAccounts
    /// Where reports of CM's messages go: CM has it in its console.
    var statusURL: String?
    /// Whether a report follows each message by itself.
    var reportsByItself = false
  }

  init(_ context: SimulatorContext) {
    let settings = context.settings
    traffic = Self.traffic(context)
    state = Mutex(
      State(
        accounts: SMSAccounts(trustsAll: settings.trustsUnknownKeys), statusURL: settings.smsStatusURL,
        reportsByItself: settings.smsStatusURL != nil))
  }

  func answer(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    guard let request = SMSRequest(incoming, state.withLock { $0.accounts }) else {
      let refusal = Refusal.status(404)
      return SimulatedAnswer(reply: .refuse(refusal)) { SMSBody.refused($0 ?? refusal, isTwilio: false) }
    }
    let (reply, codes) = reply(to: request)
    let now = Date()
    let messages = zip(request.parts, codes).map { part, code in
      Message(
        at: now, to: PhoneNumber(part.number)?.digits ?? part.number, from: part.from, text: part.text,
        parts: part.parts, isUnicode: part.isUnicode, reference: part.reference, isCall: request.kind == .call,
        language: part.language, statusURL: part.statusURL,
        sid: (request.kind == .call ? "CA" : "SM") + UUID().uuidString.filter { $0 != "-" }.lowercased(), code: code,
        isAccepted: code == nil && reply.isAccepted, isTwilio: request.service == .twilio)
    }
    traffic.log(incoming, Details(messages: messages), reply)
    for message in messages where message.isAccepted {
      traffic.show(on: Self.phone, "+\(message.to)") { PhonePush(message, number: $0) }
      if state.withLock({ $0.reportsByItself }), !message.isCall {
        Task { try? await report(message, .delivered) }
      }
    }
    return SimulatedAnswer(reply: reply) { refusal in
      refusal.map { SMSBody.refused($0, isTwilio: request.service == .twilio) } ?? SMSBody.accepted(request, messages)
    }
  }

  /// The reply to the request, and for each message the code by which it alone is refused. The checks come first, then the rules. A
  /// message's reply other than a refusal of that message is the whole request's.
  private func reply(to request: SMSRequest) -> (Reply, codes: [Int?]) {
    let none = [Int?](repeating: nil, count: request.parts.count)
    if let refusal = request.refusal { return (.refuse(refusal), none) }
    var codes: [Int?] = []
    var whole: Reply?
    for part in request.parts {
      guard part.fault == nil else {
        codes.append(part.fault)
        continue
      }
      let number = PhoneNumber(part.number)?.digits ?? part.number
      switch traffic.rules.reply(to: number) {
      case .refuse(let refusal) where refusal.isOfMessage: codes.append(refusal.code)
      case let reply?:
        codes.append(nil)
        if reply != .accept { whole = whole ?? reply }
      case nil: codes.append(nil)
      }
    }
    if let whole { return (whole, codes) }
    if request.service == .twilio, let code = codes.first ?? nil { return (.refuse(.code(code)), codes) }
    return (.accept, codes)
  }

  /// All messages received so far, oldest first; refused ones too.
  public var messages: [Message] { requests.flatMap(\.messages).filter { !$0.isCall } }

  /// All calls received so far, oldest first; refused ones too.
  public var calls: [Message] { requests.flatMap(\.messages).filter(\.isCall) }
}

// MARK: - Accounts and reports

extension SimulatedSMS {
  /// Registers CM's product token, so that messages with it are taken.
  public func register(productToken: String) { state.withLock { _ = $0.accounts.productTokens.insert(productToken) } }

  /// Registers an account of Twilio.
  public func register(accountSID: String, authToken: String) {
    state.withLock { $0.accounts.authTokens[accountSID] = authToken }
  }

  /// Sends the reports of all further messages by themselves: each is delivered.
  /// - Parameter url: where those of CM's messages go; Twilio's go where the message says.
  public func reportDeliveries(to url: String) {
    state.withLock {
      $0.statusURL = url
      $0.reportsByItself = true
    }
  }

  /// What became of a message, as its status report says.
  public enum Status: Sendable, Hashable {
    case delivered
    /// - Parameter errorCode: of CM's standard error codes, or of Twilio's delivery errors.
    case failed(errorCode: Int)
  }

  /// Posts a status report of a message: CM's as JSON, Twilio's as a signed form.
  /// - Parameter url: nil for where the message, or `reportDeliveries`, says.
  /// - Returns: the status of the answer; nil if there is nowhere to post it.
  @discardableResult
  public func report(_ message: Message, _ status: Status, to url: String? = nil) async throws -> Int? {
    let (fallback, accounts) = state.withLock { ($0.statusURL, $0.accounts) }
    guard let url = url ?? message.statusURL ?? (message.isTwilio ? nil : fallback) else { return nil }
    return try await SMSStatusSender.post(message, status, to: url, authTokens: Array(accounts.authTokens))
  }
}

// MARK: - Replies

extension SimulatedSMS {
  /// A response that accepts nothing, or a message of CM that is refused alone.
  public struct Refusal: Sendable, Hashable {
    public var status: Int
    /// Of CM, or of Twilio; nil for a status alone.
    public var code: Int?
    /// Whether the request's other messages are taken.
    public var isOfMessage = false
    /// The header `retry-after`: seconds, or an HTTP date.
    public var retryAfter: String?

    /// CM's code for one message, or Twilio's.
    public static func message(_ code: Int) -> Self { Self(status: 200, code: code, isOfMessage: true) }

    /// A code for the whole request.
    public static func code(_ code: Int, status: Int = 400) -> Self { Self(status: status, code: code) }

    /// A status without a code.
    public static func status(_ status: Int, retryAfter: String? = nil) -> Self {
      Self(status: status, retryAfter: retryAfter)
    }
  }
}

extension SimulatedSMS.Refusal: ListedRefusal {
  static let listed =
    [301, 302, 303, 304, 305, 401, 402, 403, 500, 999].map { message($0) }
    + [101, 102, 103, 202, 203].map { code($0) }
    + [21211, 21408, 21602, 21603, 21604, 21606, 21608, 21610, 21612, 21614, 21617].map { message($0) }
    + [code(20003, status: 401), code(20404, status: 404), code(20429, status: 429)]
    + [408, 429, 500, 503].map { status($0) }

  var reason: String { code.map(String.init) ?? "" }
}

// MARK: - Where it is, and who may sign in

extension SimulatedSMS {
  static let ports = [
    SimulatedPort(option: "sms-port", usual: 8449, help: "CM's and Twilio's SMS and calls", name: "SMS and calls")
  ]
  static let testTokens = TestTokens<Refusal>.none
  static let trustOptions = [
    TrustOption(
      name: "product-token-file", valueName: "file", isWord: true,
      help: ("File of a product token of ", "CM", " to trust")
    ) { $0.sms.register(productToken: $2) },
    TrustOption(
      name: "twilio-account", valueName: "account-sid=file", idCount: 1, isWord: true,
      help: ("Account of ", "Twilio", " to trust, and the file of its Auth Token")
    ) { $0.sms.register(accountSID: $1[0], authToken: $2) },
  ]

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(
      on: port, self, protocols: ["h2", "http/1.1"], isPlain: host.settings.smsIsPlain,
      http1: { try ServiceListener.http1($0, $1) })
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.smsAllowedHosts, simulator.smsHost)]
  }

  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? { nil }
}

extension PushSimulator {
  /// Providers of SMS and of calls: CM and Twilio.
  public var sms: SimulatedSMS { service() }
  /// Origin of the providers of SMS: `https://localhost:8449`, say; empty before `start`.
  public var smsURL: String {
    let url = url(at: SimulatedSMS.ports[0])
    return settings.smsIsPlain ? url.replacing("https://", with: "http://") : url
  }
  /// The host that the providers of SMS are at: `localhost:8449`, say; empty before `start`.
  public var smsHost: String { String(smsURL.trimmingPrefix { $0 != "/" }.dropFirst(2)) }
  /// Where messages for CM go.
  public var cmURL: String { smsURL + SimulatedSMS.messagePath }
  /// Where calls for CM go.
  public var cmVoiceURL: String { smsURL + SimulatedSMS.callPath }
  /// Where messages for Twilio go.
  public func twilioURL(_ accountSID: String) -> String {
    "\(smsURL)\(SimulatedSMS.twilioPath)\(accountSID)/Messages.json"
  }
  /// Where calls for Twilio go.
  public func twilioVoiceURL(_ accountSID: String) -> String {
    "\(smsURL)\(SimulatedSMS.twilioPath)\(accountSID)/Calls.json"
  }
}
