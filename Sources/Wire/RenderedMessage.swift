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
  /// The address of a picture, by https.
  public var image: [UInt8]?
  /// Of messages that are shown as a group.
  public var threadID: [UInt8]?
  /// Whether nothing is shown, though there may be an alert for the app.
  public var isSilent = false
  /// Whether apps on Android show the message themselves, so that they get data alone.
  public var isShownByApp = false
  /// As the message has it; nil leaves it to the push service's folder.
  public var pushType: PushType?
  /// The rich page, or the message's own link.
  public var url: [UInt8]?
  public var pushreadurl: [UInt8]?
  /// Further fields in the order of their names: the name as a JSON string, and any JSON.
  public var fields: [Field]
  /// What a later push replaces on the screen; nil leaves it to the hub.
  public var collapseKey: String?
  /// What the app gets as it is, in place of the fields of Carma's guide. Nothing is shown then, but that Apple's phones behind
  /// another service get `alert` for the app's service extension.
  public var literalData: LiteralData?
  /// Changes for each push service by its name, as `MessageOverrides.value` has them.
  public var overrides: JSONValue?

  public struct Field: Sendable, Equatable {
    public var name: [UInt8]
    public var value: [UInt8]
    /// Whether it is left out where the message is too large otherwise.
    public var isOptional: Bool

    public init(name: [UInt8], value: [UInt8], isOptional: Bool = false) {
      self.name = name
      self.value = value
      self.isOptional = isOptional
    }
  }

  public init(
    alert: [UInt8]? = nil, info: [UInt8]? = nil, badge: [UInt8]? = nil, sound: [UInt8]? = nil, category: [UInt8]? = nil,
    image: [UInt8]? = nil, threadID: [UInt8]? = nil, isSilent: Bool = false, pushType: PushType? = nil,
    url: [UInt8]? = nil, pushreadurl: [UInt8]? = nil, fields: [Field] = [], collapseKey: String? = nil,
    overrides: JSONValue? = nil
  ) {
    self.alert = alert
    self.info = info
    self.badge = badge
    self.sound = sound
    self.category = category
    self.image = image
    self.threadID = threadID
    self.isSilent = isSilent
    self.pushType = pushType
    self.url = url
    self.pushreadurl = pushreadurl
    self.fields = fields
    self.collapseKey = collapseKey
    self.overrides = overrides
  }

  /// Of data that the app gets as it is.
  /// - Parameter alert: as a JSON string.
  public init(literalData: [String: String], alert: [UInt8]) {
    self.init(alert: alert)
    self.literalData = LiteralData(literalData)
  }

  /// Names and values. Many pushes can share them.
  public struct LiteralData: Sendable, Equatable {
    /// As a JSON object, in the order of its names.
    public let json: [UInt8]
    /// Bytes of names and values.
    public let size: Int

    init(_ data: [String: String]) {
      json = JSONValue.object(Dictionary(named: data.map { ($0, JSONValue.string($1)) })).json
      size = data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }
  }
}
