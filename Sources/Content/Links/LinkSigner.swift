import Crypto

/// Makes and reads the tokens in links.
public struct LinkSigner: Sendable {
  /// - Parameter key: 32 random bytes, the same on every hub.
  public init(key: [UInt8]) {
  }

  /// The token that stands for a push in links of this kind: characters of base64url only, at most 76.
  public func token(for link: PushLink, _ kind: PushLink.Kind) -> String {
    fatalError()
  }

  /// The push that a token stands for; `nil` for anything this hub did not sign for links of this kind.
  public func verify(_ token: String, _ kind: PushLink.Kind) -> PushLink? {
    fatalError()
  }
}
