import FoundationEssentials
import Wire

/// What the documented reasons of one push service mean, read from its table. Documents list them.
public struct ServiceReasons: Sendable {
  /// A reason, and what the hub makes of it.
  public struct Reason: Sendable {
    /// The service's own word or number, as the ledger has it.
    public var word: String
    /// What a number stands for, in a few words; nil for a word.
    public var meaning: String?
    public var verdict: Verdict
    /// What to do about it, as a sentence; nil if no more than the reason is known.
    public var advice: String?
  }

  /// The service's name for people, such as `APNs`.
  public var service: String
  public var reasons: [Reason]

  /// The tables of all services.
  public static let all = [apns, fcm, hms, wns, mozilla, apple, cm, twilio]

  private static let apns = ServiceReasons(
    service: "APNs",
    reasons: APNsReason.allCases.map { reason in
      Reason(word: reason.rawValue, verdict: ResponseClassification(reason).verdict, advice: reason.advice)
    })

  /// FCM's own codes, and then statuses of Google's APIs that come without one.
  private static let fcm: ServiceReasons = {
    var responses = FCMErrorCode.allCases.map { FCMResponse(status: 400, errorCode: $0.rawValue) }
    for (status, word) in [
      (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"), (429, "RESOURCE_EXHAUSTED"),
    ] {
      responses.append(FCMResponse(status: status, rpcStatus: word))
    }
    let reasons = responses.map { response in
      let word = response.errorCode ?? response.rpcStatus ?? ""
      return Reason(
        word: word, verdict: ResponseClassification(response).verdict, advice: FCMAccount.advice(on: word))
    }
    return ServiceReasons(service: "FCM", reasons: reasons)
  }()

  /// Of a request with one token.
  private static let hms = ServiceReasons(
    service: "Push Kit",
    reasons: HMSCode.allCases.filter { $0 != .success }.map { code in
      let response = HMSResponse(status: 200, code: code.rawValue)
      return Reason(
        word: code.rawValue, meaning: words(of: code), verdict: ResponseClassification(response, tokens: [[]]).verdict,
        advice: HMSAccount.advice(on: code.rawValue))
    })

  private static let wns: ServiceReasons = {
    var reasons = ResponseClassification.documentedWNSStatuses.sorted().map { status in
      Reason(word: "HTTP\(status)", verdict: ResponseClassification(WNSResponse(status: status)).verdict)
    }
    for word in ["dropped", "channelthrottled"] {
      let response = WNSResponse(status: 200, notificationStatus: word)
      reasons.append(Reason(word: word, verdict: ResponseClassification(response).verdict))
    }
    return ServiceReasons(service: "WNS", reasons: reasons)
  }()

  private static let mozilla = ServiceReasons(
    service: "Web Push, Mozilla's service",
    reasons: MozillaErrno.allCases.map { errno in
      let response = WebPushResponse(status: 400, errno: errno.rawValue)
      return Reason(word: errno.word, meaning: words(of: errno), verdict: ResponseClassification(response).verdict)
    })

  private static let apple = ServiceReasons(
    service: "Web Push, Apple's service",
    reasons: AppleWebPushReason.allCases.map { word in
      let response = WebPushResponse(status: 400, reason: word.rawValue)
      return Reason(word: word.rawValue, verdict: ResponseClassification(response).verdict)
    })

  /// The name of a case as people write it: `too many topic jobs`, `bad TTL`.
  private static func words(of code: some Sendable) -> String {
    var words = ""
    for character in String(describing: code) {
      if character.isUppercase, words.last?.isLowercase == true { words.append(" ") }
      words.append(character)
    }
    return words.split(separator: " ").map { word in
      word.dropFirst().contains(where: \.isLowercase)
        ? word.prefix(1).description.lowercasedASCII + word.dropFirst() : String(word)
    }.joined(separator: " ")
  }

  private static let cm = ServiceReasons(
    service: "SMS by CM",
    reasons: CMCode.allCases.filter { $0 != .ok }.map { code in
      Reason(
        word: code.word, verdict: code.verdict(retryAfter: nil, at: .distantPast),
        advice: SMSPushAccount.advice(on: code))
    })

  private static let twilio = ServiceReasons(
    service: "SMS by Twilio",
    reasons: TwilioCode.allCases.map { code in
      Reason(
        word: code.word, verdict: code.verdict(hasOwnSender: false, retryAfter: nil, at: .distantPast),
        advice: SMSPushAccount.advice(on: code))
    })
}
