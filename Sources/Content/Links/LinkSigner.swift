import Crypto
import FoundationEssentials
import Locking
public import Wire

/// Signs and verifies the tokens in links.
///
/// A token is the base64url of six variable-length integers and a 16-byte HMAC-SHA256. The integers are the signing
/// key's number, customer, sendout, push, device and the day of signing. The HMAC covers them. A page's link
/// has its first half, and the other link of the push its second half: neither half can be guessed from the other. So a token is short,
/// unguessable and free of personal data. Keys can be replaced while the hub serves. The database is never asked.
public final class LinkSigner: Sendable {
  private struct Keys: Sendable {
    var current: Int64
    /// Keyed once; each signature works on a copy.
    var macs: [Int64: HMAC<SHA256>]
    var lastDays: [Int64: LinkDay]
    var maximumAges: [CustomerID: Int32]
  }

  /// Half of an HMAC-SHA256, in bytes.
  fileprivate static let signatureLength = 16
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
  public func token(for link: PushLink, _ kind: PushLink.Kind) -> String { signed(link).text(kind) }

  /// The tokens of both kinds, signed once.
  func tokens(for link: PushLink) -> (page: String, read: String) {
    let signed = signed(link)
    return (signed.text(.page), signed.text(.read))
  }

  private func signed(_ link: PushLink) -> SignedLink {
    let (number, mac) = keys.withLock { keys in
      let number = link.signedBy.flatMap { keys.macs[$0] == nil ? nil : $0 } ?? keys.current
      return (number, keys.macs[number])
    }
    guard let mac else { preconditionFailure("the current key is one of the keys") }
    return SignedLink(link, on: link.signedOn ?? today(), with: mac, number: number)
  }

  /// The push that a token stands for; `nil` for anything that was not signed for links of this kind, or is too old.
  ///
  /// The numbers are read first and their token is made again. So exactly one spelling of a link is accepted.
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
    let made = SignedLink(link, on: LinkDay(day), with: mac, number: number).token(kind)
    guard made.isEqual(inConstantTime: given) else { return nil }
    if let maximumAge, today().number - day > Int64(maximumAge) { return nil }
    return link
  }
}

// MARK: - Contacts

extension LinkSigner {
  /// The token that stands for a contact in the address where it ends marketing: base64url of key's number, customer, contact and day of
  /// signing, and of half an HMAC. What the HMAC covers begins with a 0, which no push's does. So neither token can stand for the other.
  public func token(for link: ContactLink) -> String {
    let (number, mac) = keys.withLock { ($0.current, $0.macs[$0.current]) }
    guard let mac else { preconditionFailure("the current key is one of the keys") }
    return String(decoding: Self.token(for: link, on: today(), with: mac, number: number), as: UTF8.self)
  }

  /// The contact that a token stands for; `nil` for anything that was not signed for such an address. It never becomes too old: people may end
  /// marketing by whatever message they find.
  public func verify(contact token: String) -> ContactLink? {
    let given = Array(token.utf8)
    guard Self.contactLengths.contains(given.count), let packed = Base64URL.decode(given) else { return nil }
    var numbers = VariableLength(bytes: packed.dropLast(Self.signatureLength))
    guard let number = numbers.next(), let customer = numbers.next(), let contact = numbers.next(),
      let day = numbers.next(), numbers.isAtEnd
    else { return nil }
    let (mac, lastDay) = keys.withLock { ($0.macs[number], $0.lastDays[number]?.number ?? .max) }
    guard let mac, day <= min(today().number + 1, lastDay) else { return nil }
    let link = ContactLink(customer: CustomerID(customer), contact: ContactID(contact))
    let made = Self.token(for: link, on: LinkDay(day), with: mac, number: number)
    return made.isEqual(inConstantTime: given) ? link : nil
  }

  /// Four numbers of at most 9 bytes each.
  private static let contactLengths = 27...70

  private static func token(
    for link: ContactLink, on day: LinkDay, with mac: HMAC<SHA256>, number: Int64
  ) -> [UInt8] {
    var numbers: [UInt8] = []
    for number in [number, link.customer.rawValue, link.contact.rawValue, day.number] {
      VariableLength.append(number, to: &numbers)
    }
    var mac = mac
    mac.update(data: [0] + numbers)
    mac.finalize().withUnsafeBytes { numbers.append(contentsOf: $0.prefix(signatureLength)) }
    return Base64URL.encode(numbers)
  }
}

/// A push's numbers and their signature.
private struct SignedLink {
  private let numbers: [UInt8]
  private let code: HMAC<SHA256>.MAC

  init(_ link: PushLink, on day: LinkDay, with mac: HMAC<SHA256>, number: Int64) {
    var numbers: [UInt8] = []
    numbers.reserveCapacity(54)
    VariableLength.append(number, to: &numbers)
    VariableLength.append(link.customer.rawValue, to: &numbers)
    VariableLength.append(link.sendout.rawValue, to: &numbers)
    VariableLength.append(link.push.rawValue, to: &numbers)
    VariableLength.append(link.device.rawValue, to: &numbers)
    VariableLength.append(day.number, to: &numbers)
    var mac = mac
    mac.update(data: numbers)
    self.numbers = numbers
    code = mac.finalize()
  }

  /// The token in base64url.
  func token(_ kind: PushLink.Kind) -> [UInt8] {
    var packed = numbers
    packed.reserveCapacity(numbers.count + LinkSigner.signatureLength)
    code.withUnsafeBytes { code in
      packed.append(
        contentsOf: kind == .page ? code.prefix(LinkSigner.signatureLength) : code.suffix(LinkSigner.signatureLength))
    }
    return Base64URL.encode(packed)
  }

  func text(_ kind: PushLink.Kind) -> String { String(decoding: token(kind), as: UTF8.self) }
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
