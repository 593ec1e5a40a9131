/// What a comparison is about.
public enum FilterField: Sendable, Hashable {
  case contact(ContactField)
  case originalId
  case dateOfBirth
  case createdAt
  case updatedAt
  /// A property of that name, of whatever type.
  case property(UTF8String)
  /// Only in `device(…)`.
  case device(DeviceFilterField)
}

/// A field of a device, in `device(…)`.
public enum DeviceFilterField: String, Sendable, Hashable, CaseIterable {
  /// The app's appId.
  case app
  /// The app's platform: an `AppType.name`.
  case platform
  case manufacturer, model, osVersion, country, sandbox, registeredAt
}

/// What a field holds, which says what it can be compared with.
public enum FilterFieldType: Sendable, Hashable {
  case text
  /// One of these words. It has no order.
  case word([String])
  /// A text that is a version, or is not: then comparisons with versions are false. It is searched as a text.
  case version
  case boolean
  case date
  /// Any of text, number and boolean. A text can stand for a number, a date or a version.
  case property
}
