import Wire

/// A filter that was read, or a part of it. Its kinds have been checked, so each operator gets what it takes, or null.
indirect enum ODataExpression: Sendable {
  case null
  case bool(Bool)
  case number(ODataNumber)
  /// A text, or a GUID in lower-case letters, in UTF-8.
  case text([UInt8])
  /// The moment of this number, from 0, among those of the filter (`ODataFilter.moments`).
  case moment(Int)
  case property(PhoneMessageReply.Member)
  case not(ODataExpression)
  case and(ODataExpression, ODataExpression)
  case or(ODataExpression, ODataExpression)
  case isNull(ODataExpression)
  case compare(ODataExpression, ODataComparison, ODataExpression)
  case negate(ODataExpression)
  case arithmetic(ODataExpression, ODataOperator, ODataExpression)
  case call(ODataFunction, [ODataExpression])
}

extension PhoneMessageReply.Member {
  /// The members that filters and orders can name. `UpdateIDs` is a list, which has no order.
  static let comparable = allCases.filter { $0 != .updateIDs }
  static let comparableNames = comparable.map(\.rawValue).joined(separator: ", ")
}

/// How two values are compared.
enum ODataComparison: String, Sendable {
  case equal = "eq"
  case notEqual = "ne"
  case greater = "gt"
  case greaterOrEqual = "ge"
  case less = "lt"
  case lessOrEqual = "le"

  /// - Parameters:
  ///   - isLess: whether the left value is less than the right one.
  ///   - isEqual: whether they are equal.
  func holds(isLess: Bool, isEqual: Bool) -> Bool {
    switch self {
    case .equal: isEqual
    case .notEqual: !isEqual
    case .greater: !isLess && !isEqual
    case .greaterOrEqual: !isLess
    case .less: isLess
    case .lessOrEqual: isLess || isEqual
    }
  }

  /// What says the same once the sides have changed places: `a < b` is `b > a`.
  var exchanged: ODataComparison {
    switch self {
    case .equal, .notEqual: self
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    }
  }
}

/// What is done with two numbers.
enum ODataOperator: Sendable {
  case add, subtract, multiply, divide, remainder
  /// Of whole numbers: without decimals.
  case divideWhole
}

/// A function of filters: its name, and how many arguments it takes.
enum ODataFunction: String, Sendable, CaseIterable {
  case substringof, startswith, endswith, length, indexof, replace, substring, tolower, toupper, trim, concat
  case year, month, day, hour, minute, second, round, floor, ceiling
  /// `tolower` of a text that is compared with a GUID.
  case lowerGUID = "tolower of a GUID"

  /// The functions that a filter can name.
  static let named = allCases.filter { $0 != .lowerGUID }

  var arguments: ClosedRange<Int> {
    switch self {
    case .substringof, .startswith, .endswith, .indexof, .concat: 2...2
    case .replace: 3...3
    case .substring: 2...3
    default: 1...1
    }
  }
}

extension ODataExpression {
  /// Limits of `DateTime` that every message meets which the expression holds for, as numbers of moments: later than or at, and
  /// earlier than or at.
  var bounds: (lower: Int?, upper: Int?) {
    switch self {
    case .and(let left, let right):
      let (one, other) = (left.bounds, right.bounds)
      return (one.lower ?? other.lower, one.upper ?? other.upper)
    case .compare(.property(.dateTime), let comparison, .moment(let moment)): return comparison.bounds(moment)
    case .compare(.moment(let moment), let comparison, .property(.dateTime)):
      return comparison.exchanged.bounds(moment)
    default: return (nil, nil)
    }
  }
}

extension ODataComparison {
  fileprivate func bounds(_ moment: Int) -> (lower: Int?, upper: Int?) {
    switch self {
    case .equal: (moment, moment)
    case .notEqual: (nil, nil)
    case .greater, .greaterOrEqual: (moment, nil)
    case .less, .lessOrEqual: (nil, moment)
    }
  }
}
