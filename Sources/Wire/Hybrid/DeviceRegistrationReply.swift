/// A device registration as phones get it (protocol notes, section 10.3): the members in the order of CM's documents.
public struct DeviceRegistrationReply: Sendable, Equatable {
  public var deviceID: String
  public var msisdn: String?
  public var platform: String
  public var registrationStatus: String
  public var created: String
  public var registeredForPushNotification: Bool
  public var appKey: String
  public var appName: String
  public var userAgent: String

  public init(
    deviceID: String, msisdn: String?, platform: String, registrationStatus: String, created: Timestamp,
    registeredForPushNotification: Bool, appKey: String, appName: String, userAgent: String
  ) {
    self.deviceID = deviceID
    self.msisdn = msisdn
    self.platform = platform
    self.registrationStatus = registrationStatus
    self.created = created.withoutZone
    self.registeredForPushNotification = registeredForPushNotification
    self.appKey = appKey
    self.appName = appName
    self.userAgent = userAgent
  }

  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.open("{")
    writer.member("DeviceID", deviceID)
    writer.member("Msisdn", msisdn)
    writer.member("Platform", platform)
    writer.member("RegistrationStatus", registrationStatus)
    writer.member("Created", created)
    writer.name("RegisteredForPushNotification")
    writer.raw(registeredForPushNotification ? "true" : "false")
    writer.member("AppKey", appKey)
    writer.member("AppName", appName)
    writer.member("UserAgent", userAgent)
    writer.close("}")
    return writer.bytes
  }
}

/// A message to a number as phones get it: the members in the order of CM's documents, then `UpdateIDs`.
public struct PhoneMessageReply: Sendable, Equatable {
  /// A member of a message, as `$select` names it.
  public enum Member: String, Sendable, CaseIterable {
    case id = "ID"
    case updateID = "UpdateID"
    case recipient = "Recipient"
    case sender = "Sender"
    case body = "Body"
    case dateTime = "DateTime"
    case status = "Status"
    case updateIDs = "UpdateIDs"
  }

  public var id: String
  /// One for each push and SMS of the message, the first one also as `UpdateID`.
  public var updateIDs: [String]
  public var recipient: String
  public var sender: String
  public var body: String
  public var dateTime: Timestamp
  public var status: String

  public init(
    id: String, updateIDs: [String], recipient: String, sender: String, body: String, dateTime: Timestamp,
    status: String
  ) {
    self.id = id
    self.updateIDs = updateIDs
    self.recipient = recipient
    self.sender = sender
    self.body = body
    self.dateTime = dateTime
    self.status = status
  }

  /// Writes the members that are asked for.
  public func write(_ members: [Member], to writer: inout JSONWriter) {
    writer.open("{")
    for member in members {
      switch member {
      case .id: writer.member("ID", id)
      case .updateID: writer.member("UpdateID", updateIDs.first)
      case .recipient: writer.member("Recipient", recipient)
      case .sender: writer.member("Sender", sender)
      case .body: writer.member("Body", body)
      case .dateTime: writer.member("DateTime", dateTime.withoutZone)
      case .status: writer.member("Status", status)
      case .updateIDs:
        writer.name("UpdateIDs")
        writer.open("[")
        for id in updateIDs { writer.value(id) }
        writer.close("]")
      }
    }
    writer.close("}")
  }
}
