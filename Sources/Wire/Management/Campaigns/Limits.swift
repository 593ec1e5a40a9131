/// When marketing waits, or is not sent, by the wall clock of the recipient's zone: from `start` on and before `end`, over midnight too.
public struct QuietHours: APIRequest, Hashable {
  public var start: TimeOfDay
  public var end: TimeOfDay
  /// Never nil.
  public var policy: QuietPolicy?

  /// - Parameter end: differs from `start`, as no clock says whether equal ones are always or never.
  public init(start: TimeOfDay, end: TimeOfDay, policy: QuietPolicy = .hold) {
    self.start = start
    self.end = end
    self.policy = policy
  }

  /// Reads `21:00-08:00`, as the command line has it, perhaps with `/hold` or `/skip` behind it.
  /// - Returns: nil for any other text, and for hours that begin when they end.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let times = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard times.count == 2, let start = TimeOfDay(String(times[0])), let end = TimeOfDay(String(times[1])),
      start != end, let policy = QuietPolicy(rawValue: parts.count == 2 ? String(parts[1]) : "hold")
    else { return nil }
    self.init(start: start, end: end, policy: policy)
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    start = try body.decode(TimeOfDay.self, forKey: .start)
    end = try body.decode(TimeOfDay.self, forKey: .end)
    policy = try body.decodeIfPresent(QuietPolicy.self, forKey: .policy) ?? .hold
    guard start != end else {
      throw decoder.problem("is the same as start: give another time", at: "end")
    }
  }

  public static let schemaName: String? = "QuietHours"
  public static let schemaDescription =
    "When marketing waits, or is not sent: from `start` on and before `end` by the recipient's clock, over midnight too."
  public static let example = QuietHours(start: TimeOfDay(minutes: 21 * 60), end: TimeOfDay(minutes: 8 * 60))

  public static let fieldTable: FieldTable = [
    "start": "When they begin.",
    "end": "When they end. It differs from `start`.",
    "policy":
      "`hold` sends when they end, spread over 15 minutes; `skip` does not send at all. `hold` if absent.",
  ]
}

/// What becomes of a push that falls into quiet hours.
public enum QuietPolicy: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case hold, skip
}

/// The quiet hours of a sendout in place of the customer's.
public enum QuietHoursOverride: Sendable, Hashable {
  /// None, which is `null` in JSON.
  case lifted
  case set(QuietHours)

  /// What is in force in place of the customer's.
  public var hours: QuietHours? { if case .set(let hours) = self { hours } else { nil } }
}

extension QuietHoursOverride: Codable, SchemaProviding {
  public static var schema: Schema { QuietHours.schema.orNull }

  public init(from decoder: any Decoder) throws {
    self = try decoder.singleValueContainer().decodeNil() ? .lifted : .set(QuietHours(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .lifted:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .set(let hours): try hours.encode(to: encoder)
    }
  }
}

/// How often a contact is reached at most: so many times within any span of this length.
public struct Cap: APIRequest, Hashable {
  public var count: Int
  public var per: CapPeriod
  public var purpose: MessagePurpose?

  /// Most rules of a customer.
  public static let maximumCount = 5
  public static let counts: ClosedRange<Int64> = 1...100

  public init(count: Int, per: CapPeriod, purpose: MessagePurpose? = nil) {
    self.count = count
    self.per = per
    self.purpose = purpose
  }

  /// Reads `3/24h`, as the command line has it, perhaps with `/marketing` or `/transactional` behind it.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let count = Int(parts[0]), Self.counts.contains(Int64(count)),
      let per = CapPeriod(String(parts[1]))
    else { return nil }
    self.init(count: count, per: per)
    guard parts.count == 3 else { return }
    guard let purpose = MessagePurpose(rawValue: String(parts[2])) else { return nil }
    self.purpose = purpose
  }

  /// The rule in the ledger and in reports, as in `3/24h marketing`.
  public var name: String { "\(count)/\(per)" + (purpose.map { " \($0.rawValue)" } ?? "") }

  /// Whether messages of this purpose are counted, and left out where there are too many.
  public func concerns(_ purpose: MessagePurpose) -> Bool { self.purpose == nil || self.purpose == purpose }

  public static let schemaName: String? = "Cap"
  public static let schemaDescription =
    "How often a contact is reached at most. The span ends with each moment; it is no day of the calendar."
  public static let example = Cap(count: 3, per: CapPeriod(hours: 24, isInDays: false), purpose: .marketing)

  public static let fieldTable: FieldTable = [
    "count": FieldDescription("How many sendouts and messages reach a contact.", limits: counts),
    "per": "Within which span: `1h` to `720h`, or `1d` to `30d`.",
    "purpose": "Only messages of this purpose are counted and left out. All of them if absent.",
  ]
}

/// The span of a cap: hours or days, which are 24 hours.
public struct CapPeriod: Sendable, Hashable, CustomStringConvertible {
  public let hours: Int
  private let isInDays: Bool

  /// - Returns: nil unless the text is `1h` to `720h` or `1d` to `30d`.
  public init?(_ text: String) {
    guard let unit = text.last, unit == "h" || unit == "d", text.utf8.count <= 4,
      text.utf8.dropLast().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int(text.dropLast()), (1...(unit == "h" ? 720 : 30)).contains(number)
    else { return nil }
    self.init(hours: unit == "d" ? 24 * number : number, isInDays: unit == "d")
  }

  init(hours: Int, isInDays: Bool) {
    self.hours = hours
    self.isInDays = isInDays
  }

  public var description: String { isInDays ? "\(hours / 24)d" : "\(hours)h" }

  static let expectation = "1h to 720h or 1d to 30d"
}

extension CapPeriod: Codable, SchemaProviding {
  public static var schema: Schema { .describing(.string(2...4)) }

  public init(from decoder: any Decoder) throws {
    guard let text = try? decoder.singleValueContainer().decode(String.self), let period = CapPeriod(text) else {
      throw decoder.problem("must be \(Self.expectation)")
    }
    self = period
  }

  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}
