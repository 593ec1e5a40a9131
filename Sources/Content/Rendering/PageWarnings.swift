extension PageTemplate {
  /// What of a template never works in a browser, a sentence each: pages may show images and their own styles, and nothing else.
  public static func warnings(_ body: String, format: TemplateFormat) -> [String] {
    switch format {
    case .json, .text: return []
    case .html, .xml, .textXML: break
    }
    let text = body.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    func has(_ words: String...) -> Bool { words.contains { text.firstRange(of: Array($0.utf8)) != nil } }
    var warnings: [String] = []
    if has("<script", "javascript:") || hasHandler(text) {
      warnings.append("Scripts and handlers such as onclick never run: pages are shown without them.")
    }
    if has("<form") { warnings.append("Forms are never sent: use links.") }
    if has("<iframe", "<object", "<embed", "<video", "<audio") {
      warnings.append("Frames, films and sounds are not loaded: show an image that links to them.")
    }
    if has("<link", "@import") {
      warnings.append("Style sheets of other addresses are not loaded: put styles into the page.")
    }
    return warnings
  }

  /// Whether an attribute begins with `on`.
  private static func hasHandler(_ text: [UInt8]) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    var isInTag = false
    for (index, byte) in text.enumerated() {
      if byte == UInt8(ascii: "<"), index + 1 < text.count { isInTag = isLetter(text[index + 1]) }
      if byte == UInt8(ascii: ">") { isInTag = false }
      guard isInTag, byte <= 0x20, text[(index + 1)...].starts(with: "on".utf8) else { continue }
      let name = text[(index + 3)...].prefix(while: isLetter)
      if !name.isEmpty, text[name.endIndex...].first(where: { $0 > 0x20 }) == UInt8(ascii: "=") { return true }
    }
    return false
  }
}
