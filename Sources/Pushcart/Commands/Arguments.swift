public import ArgumentParser
import FoundationEssentials
public import Wire

extension CustomerID: ExpressibleByArgument {}
extension CopiedAudience: ExpressibleByArgument {}
extension SeriesID: ExpressibleByArgument {}
extension HybridMessageType: ExpressibleByArgument {}
extension DeviceID: ExpressibleByArgument {}
extension AccessScope: ExpressibleByArgument {}
extension Role: ExpressibleByArgument {}
extension PushState: ExpressibleByArgument {}
extension SendoutKind: ExpressibleByArgument {}
extension SendoutState: ExpressibleByArgument {}
extension UncertainPolicy: ExpressibleByArgument {}
extension Report: ExpressibleByArgument {}
extension IdentityMode: ExpressibleByArgument {}
extension PushAppKind: ExpressibleByArgument {}
extension SMSProviderKind: ExpressibleByArgument {}
extension MissedPolicy: ExpressibleByArgument {}
extension RepetitionUnit: ExpressibleByArgument {}
extension UndecidedPolicy: ExpressibleByArgument {}

extension AppType: ExpressibleByArgument {
  /// By name, as in `ios`, or in Carma's numbers.
  public init?(argument: String) {
    guard let type = Self.allCases.first(where: { $0.name == argument.lowercased() || "\($0.rawValue)" == argument })
    else { return nil }
    self = type
  }

  public static var allValueStrings: [String] { allCases.map(\.name) }
  public static var allValueDescriptions: [String: String] { [:] }
  public var defaultValueDescription: String { name }
}

extension Change: ExpressibleByArgument where Value: ExpressibleByArgument {
  /// "" removes what there is.
  public init?(argument: String) {
    if argument.isEmpty {
      self = .clear
    } else if let value = Value(argument: argument) {
      self = .set(value)
    } else {
      return nil
    }
  }

  public static var allValueStrings: [String] { Value.allValueStrings }
}

extension FilterReference: ExpressibleByArgument {
  /// Digits are the number of a list or a segment, anything else is its name.
  public init?(argument: String) {
    guard !argument.isEmpty else { return nil }
    let isNumber = argument.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    self = (isNumber ? Int64(argument) : nil).map { .number($0) } ?? .name(UTF8String(argument))
  }

  /// `nil` for a name.
  var number: Int64? { if case .number(let number, _) = self { number } else { nil } }
}

extension Change {
  /// "" removes what there is.
  /// - Parameter read: reads any other text.
  init(option text: String, _ read: (String) throws -> Value) rethrows {
    self = text.isEmpty ? .clear : .set(try read(text))
  }
}

extension PhoneNumber: ExpressibleByArgument {
  /// With its country code, as in 0031612345678.
  public init?(argument: String) { self.init(argument) }
}

extension Badge: ExpressibleByArgument {
  /// A number, or a template that gives one.
  public init?(argument: String) { self = Int(argument).map { .number($0) } ?? .template(argument) }
}

/// Options of commands that list many items page by page.
struct PageOptions<Cursor: ExpressibleByArgument & Sendable>: ParsableArguments {
  @Option(help: "Start after this number, which the previous page names.") var after: Cursor?
  @Option(help: "Number of items, up to 1000.") var limit = PageRequest<Cursor>.usualLimit

  func validate() throws {
    guard PageRequest<Cursor>.limits.contains(limit) else {
      throw ValidationError("--limit is a number from 1 to 1000.")
    }
  }

  var request: PageRequest<Cursor> { PageRequest(after: after, limit: limit) }
}

extension Page {
  /// How to see the next page; empty on the last one.
  var more: String { next.map { "There is more: --after \($0)\n" } ?? "" }
}

/// A file that is named on the command line.
struct InputFile {
  let bytes: [UInt8]
  let path: String

  /// - Throws: `CommandFailure` that names the file.
  init(_ path: String) throws {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw CommandFailure("The file \(path) cannot be read.")
    }
    bytes = Array(data)
    self.path = path
  }

  /// - Throws: `CommandFailure` if it is not UTF-8.
  var text: String {
    get throws {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure("The file \(path) is not UTF-8 text.")
      }
      return text
    }
  }

  /// The file as JSON of a form that the API has.
  /// - Parameter option: that names the file, without its hyphens.
  /// - Throws: `CommandFailure` that names the option.
  func json<Part: Decodable & SchemaProviding>(of option: String) throws -> Part {
    do {
      return try Part.schema.decode(from: bytes)
    } catch let problem as JSONProblem {
      let refusal = problem.path.isEmpty ? problem.problem : "is refused: \(problem.sentence)"
      throw CommandFailure("The file of --\(option) \(refusal).")
    }
  }
}

/// An argument of the form name=value.
struct NamedValue {
  let name: String
  let value: String

  private init?(_ argument: String) {
    let name = argument.prefix { $0 != "=" }
    guard !name.isEmpty, name.endIndex < argument.endIndex else { return nil }
    self.name = String(name)
    value = String(argument[name.endIndex...].dropFirst())
  }

  /// - Throws: `ValidationError` that names the option.
  static func all(_ arguments: [String], of option: String) throws -> [NamedValue] {
    try arguments.map { argument in
      guard let named = NamedValue(argument) else { throw ValidationError("--\(option) takes name=value.") }
      return named
    }
  }
}

extension MessageID: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension MessagePriority: ExpressibleByArgument {}
extension MessageState: ExpressibleByArgument {}
extension PushType: ExpressibleByArgument {}

extension Timestamp: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension WallTime: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension CalendarDay: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension RepetitionDay: ExpressibleByArgument {
  /// As in mon, or a day of the month from 1 to 31.
  public init?(argument: String) {
    if let day = Weekday(rawValue: argument) {
      self = .ofWeek(day)
    } else if let day = Int(argument), (1...31).contains(day) {
      self = .ofMonth(day)
    } else {
      return nil
    }
  }
}

extension QuietHours {
  /// Reads 21:00-08:00, or 21:00-08:00/skip.
  /// - Throws: `ValidationError` that says what helps.
  init(option text: String) throws {
    if let hours = QuietHours(text) {
      self = hours
      return
    }
    let times = text.prefix { $0 != "/" }.split(separator: "-")
    throw ValidationError(
      times.count == 2 && TimeOfDay(String(times[0])) != nil && times[0].hasSameBytes(as: times[1])
        ? "they end when they begin: give another end" : "write them as 21:00-08:00, or 21:00-08:00/skip")
  }
}

extension Cap {
  /// Reads 3/24h, or 3/24h/marketing.
  /// - Throws: `ValidationError` that says what helps.
  init(option text: String) throws {
    guard let cap = Cap(text) else {
      throw ValidationError(
        """
        write it as 3/24h, or 3/24h/marketing: \(Cap.counts.lowerBound) to \(Cap.counts.upperBound) times within 1h to 720h, or 1d to 30d
        """)
    }
    self = cap
  }
}
