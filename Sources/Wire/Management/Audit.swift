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
  /// An `AuditAction`; later versions may write others.
  public var action: String
  public var target: String
  public var before: JSONValue?
  public var after: JSONValue?

  public static let schemaName: String? = "AuditEntry"
  public static let schemaDescription = "A management change: who made it, and what it changed."
  public static let example = AuditEntryReply(
    auditId: AuditEntryID(7), at: .example, keyId: AccessKeyID(1), userId: nil, userEmail: nil, osUser: nil,
    address: "203.0.113.7",
    action: "sendout.start", target: "sendout 3", before: ["state": "draft"], after: ["state": "freezing"])

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
    "action":
      "What was done, as in `key.add`. Each operation names its own. Others: \(AuditAction.Other.list).",
    "target": "What it was done to, as in `key 7`.",
    "before": "What this API showed of it before, without secrets. Absent if it was not there.",
    "after": "What this API showed of it afterwards, without secrets. Absent if it was removed.",
  ]
}

/// What a management change does, as the audit log writes it: a noun and a verb, as in `key.add`.
///
/// An operation's own stands with it. Here are those that no operation has, and those that more than one place writes.
public struct AuditAction: Sendable, Hashable, ExpressibleByStringLiteral {
  public let rawValue: String

  public init(stringLiteral: String) { rawValue = stringLiteral }
  public init(_ noun: String, _ verb: String) { rawValue = "\(noun).\(verb)" }
  public static func other(_ action: Other) -> Self { Self(stringLiteral: action.rawValue) }

  /// What it is done to, as in `key`.
  public var noun: String { String(rawValue.prefix { $0 != "." }) }

  public static let addApp: Self = "app.add"
  public static let changeApp: Self = "app.change"
  public static let addKey: Self = "key.add"
  public static let addUser: Self = "user.add"
  public static let changeUser: Self = "user.change"
  public static let removeUser: Self = "user.remove"
  public static let resetUser: Self = "user.reset"
  public static let addImport: Self = "import.add"
  public static let addSuppression: Self = "suppression.add"

  /// Those that no operation has.
  public enum Other: String, Sendable, CaseIterable {
    case addCustomer = "customer.add"
    /// What was stored of contacts, devices or pushes, written into a file.
    case export = "data.export"
    /// A file that has arrived.
    case receiveImport = "import.receive"
    /// A single message that somebody sent in the console, as to try a sendout.
    case sendMessage = "message.send"
    /// A test of a sendout, with the messages that were sent.
    case testSendout = "sendout.test"
    /// The webhooks of a data tree.
    case changeWebhooks = "datasync.webhooks"
    /// A new key that signs page links.
    case rotateLinks = "links.rotate"
    /// A key that signed page links, refused from now on.
    case retireLinks = "links.retire"
    /// Everything sealed anew under the current master key.
    case rekey

    fileprivate static let list = allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
  }
}
