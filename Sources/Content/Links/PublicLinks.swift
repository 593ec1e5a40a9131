/// Where recipients find the hub.
public struct PublicLinks: Sendable {
  private let base: String
  private let signer: LinkSigner

  /// - Parameter base: the hub's public URL; a slash at its end is ignored.
  public init(base: String, signer: LinkSigner) {
    var base = base[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    self.base = String(base)
    self.signer = signer
  }

  /// The push's rich page.
  public func page(_ link: PushLink) -> String { "\(base)/c/\(signer.token(for: link, .page))" }

  /// What marks the push as read.
  public func read(_ link: PushLink) -> String { "\(base)/r/\(signer.token(for: link, .read))" }
}
