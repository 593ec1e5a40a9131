extension StringProtocol {
  /// The text as it can stand between the tags of an HTML page and inside quoted attributes.
  public var htmlEscaped: String {
    var escaped = ""
    escaped.reserveCapacity(utf8.count)
    for character in unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
