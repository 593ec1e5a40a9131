/// A line of the audit log.
public struct AuditEntryID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A line of the audit log: one management change.
public struct AuditEntryReply: APIObject, Equatable {
  public var auditId: AuditEntryID
  public var at: Timestamp
  public var keyId: AccessKeyID?
  public var userId: UserID?
  public var userEmail: String?
  public var osUser: String?
  public var address: String?
  /// One of `AuditAction`; later versions may write others.
  public var action: String
  public var target: String
  public var before: JSONValue?
  public var after: JSONValue?

  public static let schemaName: String? = "AuditEntry"
  public static let schemaDescription = "A management change: who made it, and what it changed."
  public static let example = AuditEntryReply(
    auditId: AuditEntryID(7), at: .example, keyId: AccessKeyID(1), userId: nil, userEmail: nil, osUser: nil,
    address: "203.0.113.7",
    action: AuditAction.startSendout.rawValue, target: "sendout 3", before: ["state": "draft"],
    after: ["state": "freezing"])

  public static let fieldTable: FieldTable = [
    "auditId": "The line's number.",
    "at": "When the change was made.",
    "keyId": "The access key that made the change. Absent for console and command line.",
    "userId": "The user who made the change in the console. Absent for API and command line.",
    "userEmail": "The e-mail address of that user, as it is now.",
    "osUser":
      "Who made the change at the command line, as the operating system calls them. Absent for API and console.",
    "address":
      "Where API or console were called from. Behind a proxy that is not trusted this is the proxy's address.",
    "action": "What was done: \(AuditAction.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")).",
    "target": "What it was done to, as in `key 7`.",
    "before": "What this API showed of it before, without secrets. Absent if it was not there.",
    "after": "What this API showed of it afterwards, without secrets. Absent if it was removed.",
  ]
}

/// What a management change does, as the audit log writes it.
public enum AuditAction: String, Sendable, Codable, CaseIterable {
  case addCustomer = "customer.add"
  case changeCustomer = "customer.change"
  case addKey = "key.add"
  case revokeKey = "key.revoke"
  case addUser = "user.add"
  case changeUser = "user.change"
  /// A new link that sets a user's password.
  case resetUser = "user.reset"
  case removeUser = "user.remove"
  case addApp = "app.add"
  case changeApp = "app.change"
  case removeApp = "app.remove"
  /// A new secret that `X-Pushcart-Identity` is computed with.
  case rotateIdentity = "app.rotate_identity"
  /// The secret before the current one, refused from now on.
  case revokeIdentity = "app.revoke_previous_identity"
  case changeContact = "contact.change"
  /// All that was stored of a person is erased.
  case eraseContact = "contact.erase"
  /// What was stored of contacts, devices or pushes, written into a file.
  case export = "data.export"
  /// A contact added, or replaced as a whole.
  case putContact = "contact.put"
  /// A device that gets nothing more until it registers again.
  case retireDevice = "device.retire"
  case addSuppression = "suppression.add"
  /// A contact, a number or a device that is sent to again.
  case removeSuppression = "suppression.remove"
  /// What was suppressed of a contact, a number or a device.
  case liftSuppressions = "suppression.lift"
  case addList = "list.add"
  /// Contacts put on a list, or taken off it.
  case changeMembers = "list.change_members"
  case addSegment = "segment.add"
  case changeSegment = "segment.change"
  case removeSegment = "segment.remove"
  /// Contacts put into a static segment, or taken out of it.
  case changeSegmentContacts = "segment.change_contacts"
  case addImport = "import.add"
  /// A file that has arrived.
  case receiveImport = "import.receive"
  /// An import in review, with the columns that were chosen.
  case startImport = "import.start"
  case cancelImport = "import.cancel"
  case saveTemplate = "template.save"
  case removeTemplate = "template.remove"
  case addSendout = "sendout.add"
  /// What a draft says.
  case changeSendout = "sendout.change"
  /// A single message that somebody sent in the console, as to try a sendout.
  case sendMessage = "message.send"
  case startSendout = "sendout.start"
  case pauseSendout = "sendout.pause"
  case resumeSendout = "sendout.resume"
  case cancelSendout = "sendout.cancel"
  case addTrigger = "trigger.add"
  case changeTrigger = "trigger.change"
  case removeTrigger = "trigger.remove"
  case enableHybrid = "hybrid.enable"
  case changeHybrid = "hybrid.change"
  /// A new secret that an app of CM Hybrid Messaging signs with.
  case rotateHybrid = "hybrid.rotate"
  /// A new address for status reports of SMS.
  case rotateSMS = "sms.rotate"
  /// A telephone number that had opted out gets SMS again.
  case allowSMS = "sms.allow"
  /// A data tree, or a new secret of one.
  case enableDataTree = "datasync.enable"
  /// The webhooks of a data tree.
  case changeWebhooks = "datasync.webhooks"
  /// One webhook of a data tree, added or changed.
  case saveWebhook = "webhook.save"
  case removeWebhook = "webhook.remove"
  /// A new key that signs page links.
  case rotateLinks = "links.rotate"
  /// A key that signed page links, refused from now on.
  case retireLinks = "links.retire"
  /// Everything sealed anew under the current master key.
  case rekey
}
