import Delivery
import Sendouts
import Wire

/// What became of a push to a softphone, in the words that its clients look for.
enum SoftphoneVerdict: Sendable {
  case sent
  /// The token is dead: clients delete it.
  case dead
  /// 400 for what the client has to correct, 500 for what may pass.
  case failed(Int, String)

  static let noObject = SoftphoneVerdict.failed(400, "Bad object you sent here")

  init(_ verdict: DeviceVerdict) {
    switch verdict {
    case .accepted: self = .sent
    case .refused(_, HubReason.suppressed.rawValue):
      self = .failed(400, "The recipient wants no pushes: a suppression stops them.")
    case .refused(.tokenInvalid, _): self = .dead
    case .refused(.payloadRefused, let reason):
      self = .failed(400, "The push service refused the message" + (reason.map { ": \($0)" } ?? "."))
    case .refused(.credentialsRefused, _):
      self = .failed(500, "The push service refuses the app's credentials: see pushcart app check.")
    case .refused(.unavailable, _): self = .failed(500, "The push service has not accepted the message in time.")
    }
  }

  private var code: Int {
    switch self {
    case .sent: 200
    case .dead: 404
    case .failed(let code, _): code
    }
  }

  /// The answer of the old service.
  var word: String {
    switch code {
    case 200: "OK"
    case 400: "ERR:400 Bad Request"
    case 404: "ERR:404 Not Found"
    default: "ERR:500 Internal Server Error"
    }
  }

  /// The answer to `send`, or an item of the answer to `multisend`. The texts are the vendor's, who has `status` in prose and `code` in
  /// examples.
  func json(inList: Bool) -> [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.open("{")
    writer.member("code", code)
    writer.member("status", code)
    writer.member("response", text(inList: inList))
    writer.close("}")
    return writer.bytes
  }

  private func text(inList: Bool) -> String {
    switch self {
    case .sent: "Your message was sent."
    case .dead where inList: "Pnmediator returned an error: \(word)\n"
    case .dead: "Pnmediator returned unknown error: \(word)"
    // Clients look for the number in the text, too.
    case .failed(_, let sentence): sentence.contains("404") ? word : sentence
    }
  }
}

/// Why the attributes of a push cannot be sent: a sentence that names the attribute.
struct SoftphoneRefusal: Error {
  let sentence: String
}
