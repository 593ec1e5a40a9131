/// A field of a message: a member of requests, and mostly an option of what sends.
///
/// Its line in `MessageBody.allFields` and the stored property are all that the body has of it. Reading, checks, the API's description, the
/// ledger's JSON and the command line come from them, and rendering too, for a text that push services get as it is. It is a class, since
/// each single message goes through all of them.
public final class MessageField: Sendable {
  /// A closure such as `{ $0.alert }`. Each single message is written as JSON, and a key path costs ten times as much.
  public typealias Read<Value> = @Sendable (MessageBody) -> Value?

  /// What a field holds, and where it stands in a body.
  public enum Value: Sendable {
    /// A text that push services get as it is rendered, unless it is empty, and which of them.
    case text(Read<String>, rendered: RenderedText, services: Set<PushServiceName>)
    /// A text of which Content makes more than that.
    case source(Read<String>)
    case badge(Read<Badge>)
    case seconds(Read<Int>)
    case priority(Read<MessagePriority>)
    case pushType(Read<PushType>)
    /// Its option gives it this value.
    case flag(Read<Bool>, option: Bool)
    case names(Read<[String]>)
    case members(Read<[UTF8String: JSONValue]>)
    case overrides(Read<MessageOverrides>)
    case translations(Read<[UTF8String: MessageTranslation]>)
  }

  public typealias RenderedText = any WritableKeyPath<RenderedMessage, [UInt8]?> & Sendable

  public let name: String
  public let value: Value
  /// Of the option, in camel case.
  public let option: String
  /// What the option is, for the command line.
  public let help: String
  let description: FieldDescription

  /// - Parameters:
  ///   - limits: characters of a text, items, or seconds.
  ///   - text: for the API.
  ///   - option: the field's name if nil. Names, members, overrides and translations have options of their own form.
  ///   - help: `text` if nil.
  init(
    _ name: String, _ value: Value, limits: ClosedRange<Int64>? = nil, _ text: String, option: String? = nil,
    help: String? = nil
  ) {
    self.name = name
    self.value = value
    self.option = option ?? name
    self.help = help ?? text
    description = FieldDescription(text, limits: limits)
  }

  /// What numbers it takes; nil for any.
  public var limits: ClosedRange<Int64>? { description.limits }
}

extension Set<PushServiceName> {
  /// Those that apps are added for. They get the fields of Carma's guide in any case.
  static let ofApps = Set(PushServiceName.allCases).subtracting([.sms])
}

extension MessageBody {
  /// The texts that push services get as they are rendered.
  public static let renderedTexts = allFields.compactMap { field in
    if case .text(let read, let place, _) = field.value { (name: field.name, read: read, place: place) } else { nil }
  }

  /// The JSON that `Codable` stands for, in a fraction of `JSONEncoder`'s time: each single message is stored as JSON.
  public var json: String {
    var writer = JSONWriter()
    writer.open("{")
    for field in Self.allFields { field.write(self, to: &writer) }
    writer.close("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension MessageField {
  /// Writes the member, if the message has it.
  fileprivate func write(_ message: MessageBody, to writer: inout JSONWriter) {
    switch value {
    case .text(let read, _, _), .source(let read): write(read(message), to: &writer) { $0.value($1) }
    case .badge(let read):
      write(read(message), to: &writer) { writer, badge in
        switch badge {
        case .number(let number): writer.raw(String(number))
        case .template(let text): writer.value(text)
        }
      }
    case .seconds(let read): write(read(message), to: &writer) { $0.raw(String($1)) }
    case .priority(let read): write(read(message), to: &writer) { $0.value($1.rawValue) }
    case .pushType(let read): write(read(message), to: &writer) { $0.value($1.rawValue) }
    case .flag(let read, _): write(read(message), to: &writer) { $0.raw($1 ? "true" : "false") }
    case .names(let read):
      write(read(message), to: &writer) { writer, names in
        writer.open("[")
        for name in names { writer.value(name) }
        writer.close("]")
      }
    case .members(let read): write(read(message), to: &writer) { $0.value(.object($1)) }
    case .overrides(let read): write(read(message), to: &writer) { $0.value($1.value) }
    case .translations(let read):
      write(read(message), to: &writer) { $0.value(.object($1.mapValues(\.value))) }
    }
  }

  @inline(__always)
  private func write<Part>(_ part: Part?, to writer: inout JSONWriter, _ append: (inout JSONWriter, Part) -> Void) {
    guard let part else { return }
    writer.name(name)
    append(&writer, part)
  }
}
