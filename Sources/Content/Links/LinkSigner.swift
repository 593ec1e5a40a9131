import Crypto
import Wire

/// Makes and reads the tokens in links.
///
/// A token is base64url of three variable-length integers, the numbers of customer, sendout and device, and 16 bytes of
/// HMAC-SHA256 over the link's kind and these numbers: short, unguessable, and without anything personal in it.
public struct LinkSigner: Sendable {
  /// Keyed once; each signature works on a copy.
  private let mac: HMAC<SHA256>

  private static let signatureLength = 16
  /// Three numbers of at most 9 bytes each.
  private static let lengths = 26...58

  /// - Parameter key: 32 random bytes, the same on every hub.
  public init(key: [UInt8]) { mac = HMAC<SHA256>(key: SymmetricKey(data: key)) }

  /// The token that stands for a push in links of this kind: at most 58 characters of base64url.
  public func token(for link: PushLink, _ kind: PushLink.Kind) -> String {
    String(decoding: bytes(for: link, kind), as: UTF8.self)
  }

  /// The push that a token stands for; `nil` for anything this hub did not sign for links of this kind.
  ///
  /// The numbers are read first and their token is made anew, so that there is exactly one text that is accepted for a link:
  /// no other spelling of the same bytes is. The comparison takes the same time wherever they differ.
  public func verify(_ token: String, _ kind: PushLink.Kind) -> PushLink? {
    let given = Array(token.utf8)
    guard Self.lengths.contains(given.count), let packed = Base64URL.decode(given) else { return nil }
    var numbers = VariableLength(bytes: packed.dropLast(Self.signatureLength))
    guard let customer = numbers.next(), let sendout = numbers.next(), let device = numbers.next(), numbers.isAtEnd
    else { return nil }
    let link = PushLink(customer: CustomerID(customer), sendout: SendoutID(sendout), device: DeviceID(device))
    let made = bytes(for: link, kind)
    guard made.count == given.count else { return nil }
    let difference = zip(made, given).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
    return difference == 0 ? link : nil
  }

  private func bytes(for link: PushLink, _ kind: PushLink.Kind) -> [UInt8] {
    let numbers = [link.customer.rawValue, link.sendout.rawValue, link.device.rawValue]
    var signed: [UInt8] = [kind.rawValue]
    var packed: [UInt8] = []
    signed.reserveCapacity(25)
    packed.reserveCapacity(43)
    for number in numbers {
      withUnsafeBytes(of: number.bigEndian) { signed.append(contentsOf: $0) }
      VariableLength.append(number, to: &packed)
    }
    var mac = mac
    mac.update(data: signed)
    packed.append(contentsOf: mac.finalize().prefix(Self.signatureLength))
    return Base64URL.encode(packed)
  }
}
