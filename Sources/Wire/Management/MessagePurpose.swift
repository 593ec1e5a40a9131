/// What a message is for. Whoever wants no marketing gets transactional messages still.
public enum MessagePurpose: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case marketing
  /// What its recipient has asked for or needs to know, such as a receipt, a PIN or a call.
  case transactional
}

/// Which messages a suppression stops.
public enum SuppressionScope: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Those of the purpose `marketing`.
  case marketing
  /// Transactional ones too, PINs and calls among them.
  case all

  public func stops(_ purpose: MessagePurpose) -> Bool { self == .all || purpose == .marketing }
}
