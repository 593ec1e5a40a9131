import Hybrid
import Wire

/// Why the gateway refuses a message, with CM's number of it and a text for each form of the reply.
enum GatewayRefusal: Error, Sendable, Equatable {
  case noSender
  case noNumber
  /// As it came.
  case badNumber(String)
  case noText
  case badText(SMSText.Problem)
  /// The field as JSON names it, and what is wrong with it.
  case badField(String, String)
  case refused(HybridRefusal)

  var code: Int {
    switch self {
    case .noSender: 301
    case .noNumber: 302
    case .badNumber: 303
    case .noText, .badText: 304
    case .badField(let field, _): field == "from" ? 301 : field == "appKey" ? 103 : 305
    case .refused(let refusal): refusal.rawValue
    }
  }

  /// Each kind once, with names that are examples.
  static let examples: [GatewayRefusal] = {
    var examples: [GatewayRefusal] = [.noSender, .noNumber, .badNumber("12"), .noText]
    examples += SMSText.Problem.allCases.map { GatewayRefusal.badText($0) }
    examples.append(.badField("from", SMSAccount.senderRule))
    examples += HybridRefusal.allCases.map { GatewayRefusal.refused($0) }
    return examples
  }()

  /// For JSON.
  var details: String {
    switch self {
    case .noSender: "No from field found in a msg"
    case .noNumber: "No phone numbers found. Message will not be sent."
    case .badNumber(let number): "Gsm '\(number.briefly)' is not a number."
    case .noText: "A body without content was found"
    case .badText(let problem): "body.content \(problem.problem)."
    case .badField(let field, let problem): "\(field) \(problem)."
    case .refused(.appKeyUnknown): "appKey names no app of this customer."
    case .refused(.senderInvalid): "from is no sender that the SMS provider takes."
    case .refused(.textInvalid): "body.content cannot be sent."
    case .refused(.fieldInvalid): "A field is invalid."
    case .refused(.suppressed): "The number has opted out."
    case .refused(.noProvider): "The customer has no SMS provider, and the message could go by nothing else."
    case .refused(.unavailable): "The hub could not accept this message, so send it again."
    case .refused(.outcomeUnknown): "The hub lost its database connection. Whether the message is accepted is unknown."
    }
  }

  /// For XML, behind `Error: ERROR `.
  var xmlText: String {
    switch self {
    case .noSender: "No FROM field found in a MSG node."
    case .badNumber: "Rejected: \(details)"
    case .badText(let problem): "BODY \(problem.problem)."
    case .badField(let field, let problem): "\(field.uppercased()) \(problem)."
    case .refused(.appKeyUnknown): "APPKEY names no app of this customer."
    case .refused(.senderInvalid): "FROM is no sender that the SMS provider takes."
    case .refused(.textInvalid): "BODY cannot be sent."
    case .refused(.noProvider): "Message is unrouteable."
    case .noNumber, .noText, .refused: details
    }
  }
}

extension String {
  /// What a reply repeats of what its client sent: 64 bytes at most.
  var briefly: String {
    guard utf8.count > 64 else { return self }
    var scalars = String.UnicodeScalarView()
    var bytes = 0
    for scalar in unicodeScalars {
      bytes += UTF8.width(scalar)
      if bytes > 64 { break }
      scalars.append(scalar)
    }
    return String(scalars)
  }
}
