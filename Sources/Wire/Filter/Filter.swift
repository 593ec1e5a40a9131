/// Who of a customer's contacts is meant: the filter of segments, audiences, searches and exports.
///
/// A filter has two forms, a line of text for people (`init(text:)`, `text`) and a JSON tree for programs (`init(tree:)`, `tree`). Both stand for
/// the same value, node by node, so that converting either way loses nothing:
///
/// - An `and` in an `and` stays one, and has parentheses in the line: `a and (b and c)` is another tree than `a and b and c`.
/// - Parentheses without effect are not kept. An `and` or `or` of a single filter, which only a tree can say, is that filter.
/// - What is left out is written: `received` is `received >= 1`, and `device(everyone)` is `has device`.
/// - A number keeps its digits, as in `3.10`, but not a plus sign and zeros before them.
///
/// What is read has at most `FilterLimits.conditions` conditions and `FilterLimits.depth` levels, and its comparisons are of the right types.
public indirect enum Filter: Sendable, Hashable {
  /// Every contact. In `device`, every valid device: `has device`.
  case everyone
  /// Two filters or more.
  case and([Filter])
  /// Two filters or more.
  case or([Filter])
  case not(Filter)
  /// A field that is unset or of another type than the comparison compares false, so `not` includes it.
  case compare(FilterField, FilterComparison)
  /// The month and day of a date field lie within so many days of today, by days of UTC, today and the last day included. 29 February is
  /// 1 March in other years. The window is in days, `FilterLimits.birthdayDays` at most.
  case birthday(FilterField, FilterWindow)
  case list(FilterReference)
  case segment(FilterReference)
  /// One valid device of the contact meets all of it. Inside are `everyone`, `and`, `or`, `not`, and comparisons of device fields.
  case device(Filter)
  case activity(FilterActivity)
  case outcome(FilterOutcome)
  /// A stable hash of the contact, from 0 to 99, is at least `from` and below `to`; 0 ≤ from < to ≤ 100.
  case bucket(from: Int, to: Int)
}

/// What a filter is made of.
extension Filter {
  /// The filters that this one joins, negates or asks of a device, in the order of the line.
  public var operands: [Filter] {
    switch self {
    case .and(let filters), .or(let filters): filters
    case .not(let filter), .device(let filter): [filter]
    case .everyone, .compare, .birthday, .list, .segment, .activity, .outcome, .bucket: []
    }
  }

  /// This filter and all in it, each before its operands.
  public var all: [Filter] { [self] + operands.flatMap(\.all) }

  /// Those of `all` without operands, which `FilterLimits.conditions` limits.
  public var conditions: [Filter] { all.filter(\.operands.isEmpty) }

  /// The filter with each of its conditions replaced, such as names of lists by their numbers.
  public func mapConditions(_ change: (Filter) throws -> Filter) rethrows -> Filter {
    switch self {
    case .and(let filters): .and(try filters.map { try $0.mapConditions(change) })
    case .or(let filters): .or(try filters.map { try $0.mapConditions(change) })
    case .not(let filter): .not(try filter.mapConditions(change))
    case .device(let filter): .device(try filter.mapConditions(change))
    case .everyone, .compare, .birthday, .list, .segment, .activity, .outcome, .bucket: try change(self)
    }
  }
}

/// A list or a segment.
public enum FilterReference: Sendable, Hashable {
  case number(Int64, at: FilterPlace = FilterPlace())
  /// Compared byte for byte.
  case name(UTF8String, at: FilterPlace = FilterPlace())
}

/// Where something stands in what a filter was read from, for errors of whoever looks it up. It is no part of the filter, so all places are equal.
public struct FilterPlace: Sendable, Hashable {
  private let place: FilterError.Place?

  /// - Parameter place: nil for what was not read.
  public init(_ place: FilterError.Place? = nil) { self.place = place }

  /// - Parameters:
  ///   - problem: what is the matter there, as `FilterError` has it.
  ///   - whole: the same of the filter as a whole, for what was not read.
  public func sentence(_ problem: String, ofWhole whole: String) -> String {
    place.map { FilterError($0, problem).description } ?? whole
  }

  public static func == (one: Self, other: Self) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
}

/// How often a contact was reached.
public struct FilterActivity: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Accepted pushes, by their `settled_at`. Two phones are two.
    case received
    /// Unique opens by people, by the open's time.
    case opened
  }

  public var kind: Kind
  /// Of this sendout alone, which may be a stream of single messages.
  public var sendout: Int64?
  public var op: FilterOperator
  public var count: Int
  /// Only what happened within so long before now.
  public var within: FilterSpan?
  /// Only the pushes that the contact received last, of the sendout if there is one; of all if they are fewer. Never together with `within`.
  public var ofLast: Int?
  /// Of the condition.
  public var place = FilterPlace()
  /// Of the sendout's number.
  public var sendoutPlace = FilterPlace()

  public init(
    _ kind: Kind, sendout: Int64? = nil, op: FilterOperator = .greaterOrEqual, count: Int = 1,
    within: FilterSpan? = nil,
    ofLast: Int? = nil
  ) {
    self.kind = kind
    self.sendout = sendout
    self.op = op
    self.count = count
    self.within = within
    self.ofLast = ofLast
  }
}

/// What became of a sendout for a contact. Of several devices the best outcome counts, so that nobody has two.
public struct FilterOutcome: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// There is a push in the ledger, whatever became of it.
    case any
    /// A person opened a push.
    case opened
    /// A push was accepted, and no person has opened any.
    case notOpened
    /// A push may have been sent, and none is accepted or still due.
    case uncertain
    /// A push failed, and each other one failed, was skipped or was cancelled.
    case failed
    /// A push was skipped, as by a cap, and each other one was skipped or cancelled.
    case skipped
    /// A push was skipped or cancelled for the reason of that name, and so was each other one, for whatever reason.
    case suppressed, heldOut, capped, quiet, missed, expired, noWinner

    /// Why the push did not leave; nil for outcomes that are not about a reason.
    public var reason: HubReason? {
      switch self {
      case .any, .opened, .notOpened, .uncertain, .failed, .skipped: nil
      case .suppressed: .suppressed
      case .heldOut: .heldOut
      case .capped: .capped
      case .quiet: .quiet
      case .missed: .missed
      case .expired: .expired
      case .noWinner: .noWinner
      }
    }
  }

  public var sendout: Int64
  public var kind: Kind
  /// Of the sendout's number.
  public var sendoutPlace: FilterPlace

  public init(_ kind: Kind, of sendout: Int64, at sendoutPlace: FilterPlace = FilterPlace()) {
    self.kind = kind
    self.sendout = sendout
    self.sendoutPlace = sendoutPlace
  }

  static let kinds = Kind.allCases.map(\.rawValue)
}

/// What a filter may have at most.
public enum FilterLimits {
  public static let conditions = 64
  /// A condition has the depth 1. Each `and`, `or`, `not` and `device` around it adds 1, and parentheses add none.
  public static let depth = 8
  static let conditionsProblem = "a filter has at most \(conditions) conditions"
  static let depthProblem = "a filter is at most \(depth) deep, where each and, or, not and device adds 1"
  /// Characters (Unicode scalars) of a literal.
  public static let literal = 1000
  /// Bytes of a line.
  public static let line = 65_536
  /// Largest span of `within`, in days.
  public static let days = 3650
  public static let birthdayDays = 365
  /// Largest number that `received` and `opened` are compared with.
  public static let count = 1000
  /// Most pushes of `of last`.
  public static let ofLast = 100
  /// Digits of a number's exponent: PostgreSQL's numeric holds every number with no more.
  public static let exponentDigits = 4
}
