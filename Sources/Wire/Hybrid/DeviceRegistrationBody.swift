/// Body of `POST` and `PUT /v1.0/deviceregistrations` (protocol notes, section 10.3). Unknown members are ignored; null, an empty text
/// and an absent member mean the same.
public struct DeviceRegistrationBody: Sendable, Equatable {
  public var pushToken: String?
  public var msisdn: String?
  public var verificationCode: TypedPIN?
  public var registeredForPushNotification: Bool?
  public var isDevelopment: Bool?

  public init() {}

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    self = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var body = DeviceRegistrationBody()
      try reader.object { reader, key throws(JSONProblem) in
        switch key {
        case "PushToken": body.pushToken = try reader.filledText()
        case "Msisdn": body.msisdn = try reader.filledText()
        case "VerificationCode": body.verificationCode = try reader.pin()
        case "RegisteredForPushNotification": body.registeredForPushNotification = try reader.flag()
        case "IsDevelopment": body.isDevelopment = try reader.flag()
        default: try reader.skip()
        }
      }
      return body
    }
  }
}

/// Body of `POST /v1.0/voiceotp/requestcode`.
public struct VoiceCodeBody: Sendable, Equatable {
  public var msisdn: String?
  /// Two letters, such as `nl`.
  public var language: String?

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    (msisdn, language) = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var (msisdn, language): (String?, String?)
      try reader.object { reader, key throws(JSONProblem) in
        switch key {
        case "msisdn", "Msisdn": msisdn = try reader.filledText()
        case "language", "Language": language = try reader.filledText()
        default: try reader.skip()
        }
      }
      return (msisdn, language)
    }
  }
}

/// Body of `PUT /v1.0/messages`.
public struct MessageStatusBody: Sendable, Equatable {
  /// Of `UpdateID` and `UpdateIDs` together.
  public var updateIDs: [String] = []
  public var status: String?
  /// As the phone wrote it.
  public var readByRecipient: String?

  /// Most ids of one body.
  public static let maximumIDs = 100

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    (updateIDs, status, readByRecipient) = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var (ids, status, read): ([String], String?, String?) = ([], nil, nil)
      try reader.object { reader, key throws(JSONProblem) in
        switch key {
        case "UpdateID": if let id = try reader.filledText() { ids.append(id) }
        case "UpdateIDs":
          guard try !reader.null() else { return }
          try reader.array { reader, _ throws(JSONProblem) in
            if let id = try reader.filledText() { ids.append(id) }
            guard ids.count <= Self.maximumIDs else { throw JSONProblem("is one more than \(Self.maximumIDs)") }
          }
        case "Status": status = try reader.filledText()
        case "ReadByRecipient": read = try reader.filledText()
        default: try reader.skip()
        }
      }
      return (ids, status, read)
    }
  }
}

extension JSONReader {
  /// A PIN, as a text or a number; nil for an empty one.
  fileprivate mutating func pin() throws(JSONProblem) -> TypedPIN? {
    let isNumber = try kind() == .number
    return try filledText().flatMap { TypedPIN($0, isNumber: isNumber) }
  }

  /// A text, or a number as it is written; nil for an empty one.
  fileprivate mutating func filledText() throws(JSONProblem) -> String? {
    guard let text = try text(), !text.isEmpty else { return nil }
    return text
  }
}
