import Crypto
import FoundationEssentials
import Synchronization
public import Wire

/// Signs and verifies the tokens in links.
///
/// A token is the base64url of six variable-length integers and a 16-byte HMAC-SHA256. The integers are the signing
/// key's number, customer, sendout, push, device and the day of signing. The HMAC covers them and the link's kind. So a token
/// is short, unguessable and free of personal data. Keys can be replaced while the hub serves. The database is never
/// asked.
public final class LinkSigner: Sendable {
  private struct Keys: Sendable {
    var current: Int64
    /// Keyed once; each signature works on a copy.
    var macs: [Int64: HMAC<SHA256>]
    var lastDays: [Int64: LinkDay]
    var maximumAges: [CustomerID: Int32]
  }

  private static let signatureLength = 16
  /// Six numbers of at most 9 bytes each.
  private static let lengths = 30...94

  private let keys: Mutex<Keys>
  private let today: @Sendable () -> LinkDay

  /// - Parameters:
  ///   - keys: 32 random bytes each, by number, at least one; the highest number signs.
  ///   - lastDays: the last signing day that is accepted of each key that has a successor. A leaked old key can then
  ///     sign nothing but links of days that are over.
  ///   - maximumAges: days after which a customer's links are refused; customers without one have links that never expire.
  ///   - today: the clock, which tests steer.
  public init(
    keys: [Int64: [UInt8]], lastDays: [Int64: LinkDay] = [:], maximumAges: [CustomerID: Int32] = [:],
    today: @escaping @Sendable () -> LinkDay = { .today }
  ) {
    self.keys = Mutex(Self.keyed(keys, lastDays, maximumAges))
    self.today = today
  }

  /// Signs with the highest of these keys from now on, and verifies with all of them.
  public func replace(
    keys: [Int64: [UInt8]], lastDays: [Int64: LinkDay] = [:], maximumAges: [CustomerID: Int32]
  ) {
    let new = Self.keyed(keys, lastDays, maximumAges)
    self.keys.withLock { $0 = new }
  }

  private static func keyed(
    _ keys: [Int64: [UInt8]], _ lastDays: [Int64: LinkDay], _ maximumAges: [CustomerID: Int32]
  ) -> Keys {
    precondition(!keys.isEmpty, "a link signer needs a key")
    return Keys(
      current: keys.keys.max() ?? 1, macs: keys.mapValues { HMAC<SHA256>(key: SymmetricKey(data: $0)) },
      lastDays: lastDays, maximumAges: maximumAges)
  }

  /// The token that stands for a push in links of this kind: at most 94 characters of base64url, mostly 40.
  ///
  /// A link that was verified keeps its day and its key, so that a page cannot prolong the links on it.
  public func token(for link: PushLink, _ kind: PushLink.Kind) -> String {
    let (number, mac) = keys.withLock { keys in
      let number = link.signedBy.flatMap { keys.macs[$0] == nil ? nil : $0 } ?? keys.current
      return (number, keys.macs[number])
    }
    guard let mac else { preconditionFailure("the current key is one of the keys") }
    return String(
      decoding: Self.bytes(for: link, kind, on: link.signedOn ?? today(), with: mac, number: number), as: UTF8.self)
  }

  /// The push that a token stands for; `nil` for anything that was not signed for links of this kind, or is too old.
  ///
  /// The numbers are read first and their token is made again. So exactly one spelling of a link is accepted. The
  /// comparison takes the same time wherever they differ.
  public func verify(_ token: String, _ kind: PushLink.Kind) -> PushLink? {
    let given = Array(token.utf8)
    guard Self.lengths.contains(given.count), let packed = Base64URL.decode(given) else { return nil }
    var numbers = VariableLength(bytes: packed.dropLast(Self.signatureLength))
    guard let number = numbers.next(), let customer = numbers.next(), let sendout = numbers.next(),
      let push = numbers.next(), let device = numbers.next(), let day = numbers.next(), numbers.isAtEnd
    else { return nil }
    let link = PushLink(
      customer: CustomerID(customer), sendout: SendoutID(sendout), push: PushNumber(push), device: DeviceID(device),
      signedOn: LinkDay(day), signedBy: number)
    let (mac, lastDay, maximumAge) = keys.withLock {
      ($0.macs[number], $0.lastDays[number]?.number ?? .max, $0.maximumAges[link.customer])
    }
    // A day of grace: the hub that signed may be ahead by a little.
    guard let mac, day <= min(today().number + 1, lastDay) else { return nil }
    let made = Self.bytes(for: link, kind, on: LinkDay(day), with: mac, number: number)
    guard made.count == given.count else { return nil }
    let difference = zip(made, given).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
    guard difference == 0 else { return nil }
    if let maximumAge, today().number - day > Int64(maximumAge) { return nil }
    return link
  }

  private static func bytes(
    for link: PushLink, _ kind: PushLink.Kind, on day: LinkDay, with mac: HMAC<SHA256>, number: Int64
  ) -> [UInt8] {
    var signed: [UInt8] = [kind.rawValue]
    var packed: [UInt8] = []
    signed.reserveCapacity(49)
    packed.reserveCapacity(70)
    let numbers = [
      number, link.customer.rawValue, link.sendout.rawValue, link.push.rawValue, link.device.rawValue, day.number,
    ]
    for number in numbers {
      withUnsafeBytes(of: number.bigEndian) { signed.append(contentsOf: $0) }
      VariableLength.append(number, to: &packed)
    }
    var mac = mac
    mac.update(data: signed)
    packed.append(contentsOf: mac.finalize().prefix(signatureLength))
    return Base64URL.encode(packed)
  }
}

/// Integers in 7-bit groups, the least significant first, the top bit set on all but the last (LEB128).
private struct VariableLength {
  private var rest: ArraySlice<UInt8>

  init(bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  /// The next number; `nil` when there is none, or it is not positive or has more than 63 bits.
  mutating func next() -> Int64? {
    var number: Int64 = 0
    for shift in stride(from: Int64(0), through: 56, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      number |= Int64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return number > 0 ? number : nil }
    }
    return nil
  }

  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    var rest = UInt64(bitPattern: number)
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
