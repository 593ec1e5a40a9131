/// Body of `POST /api/v1/sendouts/{id}/test`.
public struct SendoutTestRequest: APIRequest, Equatable {
  public var originalIds: [String]
  public var variant: String?
  public var language: String?

  public init(originalIds: [String], variant: String? = nil, language: String? = nil) {
    self.originalIds = originalIds
    self.variant = variant
    self.language = language
  }

  public static let schemaName: String? = "SendoutTestRequest"
  public static let schemaDescription = "Whom to send a test to."
  public static let example = SendoutTestRequest(originalIds: ["lars@example.com"], variant: "A", language: "sv")

  public static let fieldTable: FieldTable = [
    "originalIds": FieldDescription("The contacts, by their original ids.", limits: 1...20),
    "variant": "The name of the variant that they get. The sendout's own message if absent.",
    "language": "The language in which they get it. Each contact's own if absent.",
  ]
}

/// What came of a test.
public struct SendoutTestReply: APIObject, Equatable {
  public var messageIds: [MessageID]
  public var unknownOriginalIds: [String]
  public var suppressedOriginalIds: [String]
  public var withoutDevice: [String]

  public init(
    messageIds: [MessageID], unknownOriginalIds: [String], suppressedOriginalIds: [String], withoutDevice: [String]
  ) {
    self.messageIds = messageIds
    self.unknownOriginalIds = unknownOriginalIds
    self.suppressedOriginalIds = suppressedOriginalIds
    self.withoutDevice = withoutDevice
  }

  public static let schemaName: String? = "SendoutTest"
  public static let schemaDescription =
    "What came of a test. Its pushes are real, and no figures, caps, quiet hours or opens count them."
  public static let example = SendoutTestReply(
    messageIds: [MessageID(SendoutID(9), 1)], unknownOriginalIds: [], suppressedOriginalIds: [], withoutDevice: [])

  public static let fieldTable: FieldTable = [
    "messageIds": "The messages that were sent, as `GET /api/v1/messages/{id}` shows them.",
    "unknownOriginalIds": "Those that no contact has.",
    "suppressedOriginalIds": "Those that a suppression keeps from it.",
    "withoutDevice": "Those that have no valid device of the sendout's apps.",
  ]
}

/// Body of `POST /api/v1/sendouts/{id}/copy`.
public struct SendoutCopyRequest: APIRequest, Equatable {
  public var audience: CopiedAudience?

  public init(audience: CopiedAudience? = nil) { self.audience = audience }

  public static let schemaName: String? = "SendoutCopyRequest"
  public static let schemaDescription = "Whom the copy is for."
  public static let example = SendoutCopyRequest(audience: .notOpened)

  public static let fieldTable: FieldTable = [
    "audience":
      """
    `same` for all whom the sendout was for, `failed`, `notOpened` for those whose push was accepted and not opened, `opened`, or \
    `uncertain`. The sendout's own audience, as it is now, if absent.
    """
  ]
}

/// Which contacts of a sendout a copy is for, by what became of their pushes.
public enum CopiedAudience: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case same, failed, notOpened, opened, uncertain
}

/// Body of `POST /api/v1/sendouts/{id}/winner`.
public struct WinnerChoice: APIRequest, Equatable {
  public var variant: String

  public init(variant: String) { self.variant = variant }

  public static let schemaName: String? = "WinnerChoice"
  public static let schemaDescription = "Which variant the rest of the contacts gets."
  public static let example = WinnerChoice(variant: "B")

  public static let fieldTable: FieldTable = ["variant": "The variant's name."]
}
