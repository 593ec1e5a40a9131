/// What is wrong with a push that need not travel to be refused.
///
/// The answers are the ones APNs would give. Nothing that could break out of a header passes.
enum APNsPreflight {
  static func refusal(of push: APNsPush) -> Verdict? {
    if push.token.isEmpty { return APNsVerdicts.classification(on: .missingDeviceToken).verdict }
    guard push.token.utf8.allSatisfy(isHexDigit) else {
      return APNsVerdicts.classification(on: .badDeviceToken).verdict
    }
    if push.topic.isEmpty { return APNsVerdicts.classification(on: .missingTopic).verdict }
    guard push.topic.utf8.allSatisfy(isVisible) else { return APNsVerdicts.classification(on: .badTopic).verdict }
    if let collapseID = push.collapseID, collapseID.utf8.count > 64 || !collapseID.utf8.allSatisfy(isVisible) {
      return APNsVerdicts.classification(on: .badCollapseID).verdict
    }
    if push.payload.isEmpty { return APNsVerdicts.classification(on: .payloadEmpty).verdict }
    if push.payload.count > push.pushType.payloadLimit {
      return APNsVerdicts.classification(on: .payloadTooLarge).verdict
    }
    return nil
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
}
