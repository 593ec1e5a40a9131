import FoundationEssentials
import Wire

/// A customer's account at a provider of SMS. A device's token is a telephone number with a plus sign.
struct SMSPushAccount: PushAccount {
  let account: SMSAccount

  var service: String { "SMS" }
  var environments: [PushEnvironment] { [.production] }
  var exampleToken: String { "+31612345678" }

  func prepare(_ push: OutgoingPush) -> PreparedPush { .refused(.payloadRefused(reason: "ProviderUnknown")) }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    request.preview(authorization: nil, size: request.body.count, limit: request.body.count)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    OutcomeStream.make(count: 0).0
  }

  func check(_ environment: PushEnvironment) async -> CredentialVerdict { .unasked(reason: "ProviderUnknown") }
}

extension SMSText {
  /// Why an override cannot be sent. Texts with tags are not looked into.
  static func problem(in override: SMSOverride) -> OverrideProblem? {
    if let from = override.from, !from.contains("{{"), !SMSAccount.isSender(from) {
      return OverrideProblem(field: "sms.from", problem: "must be up to 11 letters and digits, or up to 16 digits")
    }
    if let reference = override.reference, !reference.contains("{{"), !isReference(reference) {
      return OverrideProblem(field: "sms.reference", problem: "must be 1 to 32 letters and digits")
    }
    if let parts = override.maximumParts, !(1...mostParts).contains(parts) {
      return OverrideProblem(field: "sms.maximumParts", problem: "must be 1 to \(mostParts)")
    }
    return nil
  }

  private static func isReference(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & ~0x20) }
  }
}
