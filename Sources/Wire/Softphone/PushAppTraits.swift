/// What an app's kind means to the rooms that send: they know no kinds.
public struct PushAppTraits: Sendable {
  /// Whether a device can have several accounts, which get pushes beside each other. Otherwise a device's new user gets nothing that was meant
  /// for the former one.
  public let hasSeveralAccounts: Bool
  /// Whether it takes nothing but calls.
  public let takesCallsAlone: Bool
  /// Gives a message the form that its apps read.
  public let adapt: @Sendable (inout RenderedMessage) -> Void

  fileprivate init(
    hasSeveralAccounts: Bool = false, takesCallsAlone: Bool = false,
    adapt: @escaping @Sendable (inout RenderedMessage) -> Void = { _ in }
  ) {
    self.hasSeveralAccounts = hasSeveralAccounts
    self.takesCallsAlone = takesCallsAlone
    self.adapt = adapt
  }
}

extension PushAppKind {
  /// What it means to the rooms that send.
  public var traits: PushAppTraits {
    switch self {
    case .app: PushAppTraits()
    case .softphone: PushAppTraits(hasSeveralAccounts: true) { $0.becomeSoftphoneText() }
    case .pushkit: PushAppTraits(hasSeveralAccounts: true, takesCallsAlone: true)
    }
  }
}

extension RenderedMessage {
  /// Gives a message that is shown the form of a softphone's verb `NotifyGenericTextMessage`, unless it has that of a verb already. The
  /// text is left out where the message is too large otherwise.
  fileprivate mutating func becomeSoftphoneText() {
    guard let alert, !isSilent,
      !fields.contains(where: { Self.verbFields.contains(String(decoding: $0.name, as: UTF8.self)) })
    else { return }
    isShownByApp = true
    let text = info.map { alert.dropLast() + Array("\\n".utf8) + $0.dropFirst() } ?? alert
    fields.append(Field(name: Array("\"Message\"".utf8), value: Array(text), isOptional: true))
    if let sound { fields.append(Field(name: Array("\"Sound\"".utf8), value: sound)) }
    fields.append(Field(name: Array("\"type\"".utf8), value: Array("\"NotifyGenericTextMessage\"".utf8)))
  }

  /// What only messages of a verb have, as JSON.
  private static let verbFields: Set<String> = ["\"s\"", "\"s_missed\"", "\"sm\"", "\"type\""]
}
