/// Everything that room Content refuses. Web alone turns these into a status and a sentence.
public enum ContentError: Error, Sendable, Hashable {
  /// The customer has no template of that name, or not that version of it.
  case templateUnknown(name: String, version: Int32?)
  /// No customer has that number.
  case customerUnknown
  /// A template does not parse. `line` counts from 1; `reason` is what is wrong there. `field` is `body` for a page's
  /// template, and such as `message.alert` for a message's text.
  case unparsable(field: String, line: Int, reason: String)
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
}
