/// A number of a filter: exact to twelve decimals, below 10^26.
struct ODataNumber: Sendable, Comparable {
  /// In units of 10^-12.
  private var units: Int128

  private static let one: Int128 = 1_000_000_000_000

  private init(units: Int128) { self.units = units }

  init(_ whole: Int) { units = Int128(whole) * Self.one }

  /// Reads digits with at most one point. Decimals beyond the twelfth are left out.
  /// - Returns: nil for a number that is too large.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    var units: Int128 = 0
    let decimals = parts.count > 1 ? Array(parts[1].prefix(12)) : []
    for digit in Array(parts[0]) + decimals + Array(repeating: UInt8(ascii: "0"), count: 12 - decimals.count) {
      let (tens, isLarge) = units.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = tens.addingReportingOverflow(Int128(digit) - Int128(UInt8(ascii: "0")))
      guard !isLarge, !isLarger else { return nil }
      units = sum
    }
    self.units = units
  }

  static func < (left: ODataNumber, right: ODataNumber) -> Bool { left.units < right.units }

  /// The number without its decimals, between 0 and 100,000: a count of characters.
  var count: Int { Int(min(max(units / Self.one, 0), 100_000)) }

  var negated: ODataNumber { ODataNumber(units: -units) }
  var truncated: ODataNumber { ODataNumber(units: units - units % Self.one) }

  /// The greatest whole number that is not greater.
  var floor: ODataNumber {
    let rest = units % Self.one
    return ODataNumber(units: units - rest - (rest < 0 ? Self.one : 0))
  }

  var ceiling: ODataNumber { negated.floor.negated }

  /// The nearest whole number; halves away from zero.
  var rounded: ODataNumber {
    let half = Self.one / 2
    return ODataNumber(units: units + (units < 0 ? -half : half)).truncated
  }

  /// - Returns: nil for a result that is too large.
  func adding(_ other: ODataNumber) -> ODataNumber? { Self.result(units.addingReportingOverflow(other.units)) }

  /// - Returns: nil for a result that is too large.
  func subtracting(_ other: ODataNumber) -> ODataNumber? {
    Self.result(units.subtractingReportingOverflow(other.units))
  }

  private static func result(_ sum: (partialValue: Int128, overflow: Bool)) -> ODataNumber? {
    sum.overflow || abs(sum.partialValue) > Int128.max / 2 ? nil : ODataNumber(units: sum.partialValue)
  }

  /// - Returns: nil for a result that is too large.
  func multiplied(by other: ODataNumber) -> ODataNumber? { Self.quotient(units, other.units, Self.one) }

  /// - Parameter divisor: not zero.
  /// - Returns: nil for a result that is too large.
  func divided(by divisor: ODataNumber) -> ODataNumber? { Self.quotient(units, Self.one, divisor.units) }

  /// - Parameter divisor: not zero.
  func remainder(dividingBy divisor: ODataNumber) -> ODataNumber { ODataNumber(units: units % divisor.units) }

  var isZero: Bool { units == 0 }

  /// Of magnitudes, since these have room for the product.
  private static func quotient(_ left: Int128, _ right: Int128, _ divisor: Int128) -> ODataNumber? {
    let product = left.magnitude.multipliedFullWidth(by: right.magnitude)
    guard product.high < divisor.magnitude else { return nil }
    let quotient = divisor.magnitude.dividingFullWidth(product).quotient
    guard quotient <= UInt128(Int128.max / 2) else { return nil }
    let isNegative = (left < 0) != (right < 0) ? divisor > 0 : divisor < 0
    return ODataNumber(units: isNegative ? -Int128(quotient) : Int128(quotient))
  }
}
