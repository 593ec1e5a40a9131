import Postgres
import Wire

/// Why a filter has no result.
enum ODataFailure: Error {
  /// It takes more work than a request may.
  case tooMuchWork
  /// A number is too large to be computed with.
  case tooLarge
}

/// What an expression gives for a message. Null is nil.
private enum ODataValue {
  case bool(Bool)
  case number(ODataNumber)
  case text(ArraySlice<UInt8>)
  /// Microseconds since 2000.
  case moment(Int64)
}

/// Evaluates a filter over messages. Whatever the phone asks for, its work is bounded: each operator costs what it reads and writes.
///
/// Null is as in SQL: it is neither equal to anything nor unequal, and what is not certainly true is not found.
struct ODataEvaluation {
  private let moments: [Int64]
  private var steps: Int

  /// Steps of one request, a byte each or so: some 10 ms. Enough for every message that is looked at, with texts of SMS and a dozen
  /// functions.
  static let mostSteps = 8_000_000
  /// Longest text that is made, in characters: nested replacements grow with each level.
  private static let longestText = 4000
  private static let longestReplacement = 200

  /// - Parameter moments: those of the filter, in their order.
  init(moments: [PostgresTimestamp], steps: Int = Self.mostSteps) {
    self.moments = moments.map(\.microseconds)
    self.steps = steps
  }

  /// Whether the filter finds the message.
  mutating func finds(_ filter: ODataExpression, _ message: PhoneMessage) throws(ODataFailure) -> Bool {
    try truth(filter, message) == true
  }

  private mutating func spend(_ count: Int) throws(ODataFailure) {
    steps -= count
    if steps < 0 { throw .tooMuchWork }
  }

  // MARK: - Expressions

  private mutating func value(
    _ expression: ODataExpression, _ message: PhoneMessage
  ) throws(ODataFailure) -> ODataValue? {
    try spend(4)
    switch expression {
    case .null: return nil
    case .bool(let bool): return .bool(bool)
    case .number(let number): return .number(number)
    case .text(let text): return .text(text[...])
    case .moment(let index): return .moment(moments[index])
    case .property(let property): return try value(of: property, message)
    case .not, .and, .or, .isNull, .compare: return try truth(expression, message).map { .bool($0) }
    case .negate(let inner): return try number(inner, message).map { .number($0.negated) }
    case .arithmetic(let left, let operation, let right):
      return try arithmetic(left, operation, right, message).map { .number($0) }
    case .call(let function, let arguments): return try call(function, arguments, message)
    }
  }

  private mutating func value(
    of property: PhoneMessageReply.Member, _ message: PhoneMessage
  ) throws(ODataFailure) -> ODataValue? {
    if property == .dateTime { return .moment(message.moment) }
    guard let text = message.text(of: property) else { return nil }
    try spend(text.count)
    return .text(text[...])
  }

  private mutating func truth(_ expression: ODataExpression, _ message: PhoneMessage) throws(ODataFailure) -> Bool? {
    try spend(4)
    switch expression {
    case .bool(let bool): return bool
    case .not(let inner): return try truth(inner, message).map { !$0 }
    case .and(let left, let right):
      let one = try truth(left, message)
      if one == false { return false }
      let other = try truth(right, message)
      return other == false ? false : one == nil || other == nil ? nil : true
    case .or(let left, let right):
      let one = try truth(left, message)
      if one == true { return true }
      let other = try truth(right, message)
      return other == true ? true : one == nil || other == nil ? nil : false
    case .isNull(let inner): return try value(inner, message) == nil
    case .compare(let left, let comparison, let right):
      guard let one = try value(left, message), let other = try value(right, message) else { return nil }
      return try compare(one, comparison, other)
    case .call(let function, let arguments):
      guard case .bool(let bool)? = try call(function, arguments, message) else { return nil }
      return bool
    case .null, .number, .text, .moment, .property, .negate, .arithmetic: return nil
    }
  }

  private mutating func compare(
    _ left: ODataValue, _ comparison: ODataComparison, _ right: ODataValue
  ) throws(ODataFailure) -> Bool? {
    switch (left, right) {
    case (.text(let left), .text(let right)):
      try spend(min(left.count, right.count))
      // In the order of their bytes, whatever the database's language.
      return comparison.holds(isLess: left.lexicographicallyPrecedes(right), isEqual: left == right)
    case (.number(let left), .number(let right)): return comparison.holds(isLess: left < right, isEqual: left == right)
    case (.moment(let left), .moment(let right)): return comparison.holds(isLess: left < right, isEqual: left == right)
    case (.bool(let left), .bool(let right)): return comparison.holds(isLess: !left && right, isEqual: left == right)
    default: return nil
    }
  }

  private mutating func number(
    _ expression: ODataExpression, _ message: PhoneMessage
  ) throws(ODataFailure) -> ODataNumber? {
    if case .number(let number)? = try value(expression, message) { number } else { nil }
  }

  private mutating func text(
    _ expression: ODataExpression, _ message: PhoneMessage
  ) throws(ODataFailure) -> ArraySlice<UInt8>? {
    if case .text(let text)? = try value(expression, message) { text } else { nil }
  }

  /// A division by zero gives null, which no comparison finds.
  private mutating func arithmetic(
    _ left: ODataExpression, _ operation: ODataOperator, _ right: ODataExpression, _ message: PhoneMessage
  ) throws(ODataFailure) -> ODataNumber? {
    guard let one = try number(left, message), let other = try number(right, message) else { return nil }
    let result: ODataNumber?
    switch operation {
    case .add: result = one.adding(other)
    case .subtract: result = one.subtracting(other)
    case .multiply: result = one.multiplied(by: other)
    case .divide, .divideWhole:
      if other.isZero { return nil }
      let quotient = one.divided(by: other)
      result = operation == .divide ? quotient : quotient?.truncated
    case .remainder:
      if other.isZero { return nil }
      result = one.remainder(dividingBy: other)
    }
    guard let result else { throw .tooLarge }
    return result
  }

  // MARK: - Functions

  /// - Returns: nil if an argument is null.
  private mutating func call(
    _ function: ODataFunction, _ arguments: [ODataExpression], _ message: PhoneMessage
  ) throws(ODataFailure) -> ODataValue? {
    switch function {
    case .year, .month, .day, .hour, .minute, .second:
      guard case .moment(let moment)? = try value(arguments[0], message) else { return nil }
      return .number(ODataNumber(Self.part(function, of: moment)))
    case .round: return try number(arguments[0], message).map { .number($0.rounded) }
    case .floor: return try number(arguments[0], message).map { .number($0.floor) }
    case .ceiling: return try number(arguments[0], message).map { .number($0.ceiling) }
    default: break
    }
    guard let first = try text(arguments[0], message) else { return nil }
    switch function {
    case .length:
      try spend(first.count)
      return .number(ODataNumber(Self.characters(of: first)))
    case .tolower, .lowerGUID: return .text(try mapped(first, toUpper: false))
    case .toupper: return .text(try mapped(first, toUpper: true))
    case .trim: return .text(Self.trimmed(first))
    case .substring:
      guard let start = try number(arguments[1], message) else { return nil }
      try spend(first.count)
      var part = Self.droppingFirst(start.count, of: first)
      if arguments.count == 3 {
        guard let count = try number(arguments[2], message) else { return nil }
        part = part[..<Self.droppingFirst(count.count, of: part).startIndex]
      }
      return .text(part)
    default: break
    }
    guard let second = try text(arguments[1], message) else { return nil }
    switch function {
    case .substringof: return .bool(try index(of: first, in: second) != nil)
    case .startswith:
      try spend(second.count)
      return .bool(first.starts(with: second))
    case .endswith:
      try spend(second.count)
      return .bool(first.count >= second.count && first.suffix(second.count) == second)
    case .indexof:
      let index = try index(of: second, in: first)
      return .number(ODataNumber(index.map { Self.characters(of: first[..<$0]) } ?? -1))
    case .concat: return .text(try shortened(first + second))
    default:
      guard let third = try text(arguments[2], message) else { return nil }
      return .text(try replacing(second, in: first, with: third))
    }
  }

  /// Where a text is found in another one first.
  private mutating func index(
    of part: ArraySlice<UInt8>, in whole: ArraySlice<UInt8>
  ) throws(ODataFailure) -> Int? {
    guard let first = part.first else { return whole.startIndex }
    guard part.count <= whole.count else { return nil }
    for start in whole.startIndex...(whole.endIndex - part.count) {
      guard whole[start] == first else {
        try spend(1)
        continue
      }
      var length = 1
      while length < part.count, whole[start + length] == part[part.startIndex + length] { length += 1 }
      try spend(length)
      if length == part.count { return start }
    }
    return nil
  }

  /// Texts and what is put in are cut off, since nested replacements grow with each level.
  private mutating func replacing(
    _ old: ArraySlice<UInt8>, in text: ArraySlice<UInt8>, with new: ArraySlice<UInt8>
  ) throws(ODataFailure) -> ArraySlice<UInt8> {
    var rest = try shortened(text)
    guard !old.isEmpty else { return rest }
    let new = new[..<Self.droppingFirst(Self.longestReplacement, of: new).startIndex]
    var result: [UInt8] = []
    // A character has four bytes at most.
    while result.count < 4 * Self.longestText, let start = try index(of: old, in: rest) {
      try spend(2 * (start - rest.startIndex + new.count))
      result += rest[..<start]
      result += new
      rest = rest[(start + old.count)...]
    }
    try spend(rest.count)
    return try shortened((result + rest)[...])
  }

  private mutating func shortened(_ text: ArraySlice<UInt8>) throws(ODataFailure) -> ArraySlice<UInt8> {
    try spend(text.count)
    return text[..<Self.droppingFirst(Self.longestText, of: text).startIndex]
  }

  private mutating func mapped(
    _ text: ArraySlice<UInt8>, toUpper: Bool
  ) throws(ODataFailure) -> ArraySlice<UInt8> {
    let isASCII = text.allSatisfy { $0 < 0x80 }
    try spend(text.count * (isASCII ? 2 : 64))
    if isASCII {
      let letters: ClosedRange<UInt8> = toUpper ? 0x61...0x7A : 0x41...0x5A
      return text.map { letters.contains($0) ? $0 ^ 0x20 : $0 }[...]
    }
    var result = String.UnicodeScalarView()
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      let mapping = toUpper ? scalar.properties.uppercaseMapping : scalar.properties.lowercaseMapping
      // Letter by letter, as the database did it: ß has no capital.
      let letters = mapping.unicodeScalars
      result.append(letters.count == 1 ? letters[letters.startIndex] : scalar)
    }
    return Array(String(result).utf8)[...]
  }

  // MARK: - Characters

  /// A character is a Unicode scalar.
  private static func characters(of text: ArraySlice<UInt8>) -> Int { text.count { $0 & 0xC0 != 0x80 } }

  private static func droppingFirst(_ count: Int, of text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    // No more characters than bytes.
    guard count < text.count else { return text[text.endIndex...] }
    var (index, left) = (text.startIndex, count)
    while index < text.endIndex {
      if text[index] & 0xC0 != 0x80 {
        if left == 0 { break }
        left -= 1
      }
      index += 1
    }
    return text[index...]
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  // MARK: - The calendar

  /// - Parameter moment: microseconds since 2000, UTC.
  private static func part(_ function: ODataFunction, of moment: Int64) -> Int {
    func split(_ number: Int, by divisor: Int) -> (Int, Int) {
      let rest = number % divisor
      return rest < 0 ? (number / divisor - 1, rest + divisor) : (number / divisor, rest)
    }
    let (seconds, _) = split(Int(moment), by: 1_000_000)
    let (days, second) = split(seconds, by: 86_400)
    switch function {
    case .hour: return second / 3600
    case .minute: return second / 60 % 60
    case .second: return second % 60
    default: break
    }
    // Years from March, so that a leap day is the last: days since 0000-03-01, of eras of 400 years.
    let (era, dayOfEra) = split(days + 730_425, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    switch function {
    case .day: return dayOfYear - (153 * month + 2) / 5 + 1
    case .month: return month < 10 ? month + 3 : month - 9
    default: return era * 400 + yearOfEra + (month < 10 ? 0 : 1)
    }
  }
}
