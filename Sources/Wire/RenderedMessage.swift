/// A message as one recipient gets it, before a push service gives it its form.
///
/// Texts are JSON strings in UTF-8, quotation marks included, since every push service takes JSON and most texts are the same for
/// everybody. A part that is absent or empty is `nil`.
public struct RenderedMessage: Sendable, Equatable {
  public var alert: [UInt8]?
  public var info: [UInt8]?
  /// Digits, as in `3`.
  public var badge: [UInt8]?
  public var sound: [UInt8]?
  public var category: [UInt8]?
  /// As the message has it; nil leaves it to the push service's folder.
  public var pushType: PushType?
  /// The rich page.
  public var url: [UInt8]?
  public var pushreadurl: [UInt8]?
  /// Further fields in the order of their names: the name as a JSON string, and any JSON.
  public var fields: [Field]

  public struct Field: Sendable, Equatable {
    public var name: [UInt8]
    public var value: [UInt8]

    public init(name: [UInt8], value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }

  public init(
    alert: [UInt8]? = nil, info: [UInt8]? = nil, badge: [UInt8]? = nil, sound: [UInt8]? = nil, category: [UInt8]? = nil,
    pushType: PushType? = nil, url: [UInt8]? = nil, pushreadurl: [UInt8]? = nil, fields: [Field] = []
  ) {
    self.alert = alert
    self.info = info
    self.badge = badge
    self.sound = sound
    self.category = category
    self.pushType = pushType
    self.url = url
    self.pushreadurl = pushreadurl
    self.fields = fields
  }
}
