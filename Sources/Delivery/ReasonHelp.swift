import Providers
package import Wire

/// What a reason in the ledger means, and what helps.
package struct ReasonHelp: Sendable, Equatable {
  package let meaning: String?
  package let advice: String?
  /// The push services that have such a reason, as in `APNs`; none for the hub's own, and for what is not known.
  package let services: [String]

  /// - Parameters:
  ///   - reason: as the ledger has it: the hub's own, perhaps with a detail behind it, or the push service's.
  ///   - types: the platforms that it can come from.
  package init(_ reason: String, of types: [AppType]) {
    let word = reason.prefix { $0 != " " }
    if let own = HubReason(rawValue: String(word)) {
      self.init(meaning: own.meaning.replacing("`", with: ""), advice: own.advice, services: [])
      return
    }
    let services = Set(types.map(\.service.name))
    func isMeant(_ known: ServiceReasons.Reason) -> Bool {
      known.name.utf8.elementsEqual(reason.utf8) || known.name.utf8.elementsEqual(word.utf8)
    }
    let tables = PushServiceName.allCases.filter(services.contains).flatMap(ServiceReasons.of)
      .filter { $0.reasons.contains(where: isMeant) }
    let known = tables.first?.reasons.first(where: isMeant)
    self.init(
      meaning: known.map {
        ($0.meaning.map { $0.prefix(1).uppercased() + $0.dropFirst() + ". " } ?? "") + Self.meaning($0.verdict)
      },
      advice: known.flatMap { $0.advice ?? Self.advice($0.verdict) },
      services: tables.map(\.service).reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
  }

  private init(meaning: String?, advice: String?, services: [String]) {
    self.meaning = meaning
    self.advice = advice
    self.services = services
  }

  private static func meaning(_ verdict: Verdict) -> String {
    switch verdict {
    case .accepted: "The push was accepted."
    case .retry: "The push service asked to try again later."
    case .tokenInvalid(.unregistered, _, _): "The token is invalid, as after the app was removed."
    case .tokenInvalid(.wrongEnvironment, _, _): "The token is of the push service's other environment."
    case .tokenInvalid(.wrongApp, _, _): "The token is of another app."
    case .tokenInvalid(.optedOut, _, _): "The number's owner wants no messages."
    case .payloadRefused: "The push service does not take this message."
    case .credentialsRefused: "The push service refuses the app's credentials."
    case .waitsForCorrection: "The push service waits for a correction of the app's settings there."
    case .unsent: "The push service did not process the push."
    case .uncertain: "The push may have arrived."
    }
  }

  private static func advice(_ verdict: Verdict) -> String? {
    switch verdict {
    case .accepted: nil
    case .retry, .unsent: "Nothing: the hub tries again by itself, for two hours."
    case .tokenInvalid(.unregistered, _, _): "Nothing: the device is invalidated, and gets no further push."
    case .tokenInvalid(.wrongEnvironment, _, _):
      "Register tokens of development builds as sandbox tokens, and those of the store as others."
    case .tokenInvalid(.wrongApp, _, _): "Compare the app id with that of the app which registers its devices."
    case .tokenInvalid(.optedOut, _, _): "Nothing: the owner has to opt in again."
    case .payloadRefused:
      "Correct the message, or its override for this service, and send it to these recipients again."
    case .credentialsRefused: "Check the app's credentials, correct them, and resume the sendout."
    case .waitsForCorrection: "Correct the app's settings at the push service. The hub tries again by itself."
    case .uncertain: "Nothing is sent twice. Send to these recipients again if it matters."
    }
  }
}
