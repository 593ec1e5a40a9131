public import Wire

/// A sendout's message made ready once, to be rendered for each recipient.
///
/// Its payload is APNs' (section "Creating the remote notification payload" of Apple's documentation) with the guide's fields
/// ("Handling Push Notifications"). Texts are plain text: nothing is escaped but what JSON needs.
public struct MessageTemplate: Sendable {
  /// Most bytes APNs takes in a payload.
  public static let payloadLimit = 4096

  /// Whether what it says depends on the recipient, the links apart. If not, `payload` never looks at contact or device.
  public let isPersonal: Bool
  /// Whether it names a contact's property, so that properties have to be fetched.
  public let namesProperties: Bool

  /// - Throws: `ContentError.invalid` and `.unparsable` with fields such as `message.alert` and `message.fields.source`.
  public init(_ message: MessageBody) throws(ContentError) {
    fatalError()
  }

  /// The payload for one recipient, as JSON with its members always in the same order. `context.url` and `.pushreadurl` go
  /// into it when they are set.
  public func payload(for context: PageContext) -> [UInt8] {
    fatalError()
  }

  /// The alert as this recipient gets it.
  public func alert(for context: PageContext) -> String? { fatalError() }

  /// The info as this recipient gets it.
  public func info(for context: PageContext) -> String? { fatalError() }
}
