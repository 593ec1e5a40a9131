/// The root of a document that is known to be well formed, read a second time, in the plainest way.
struct PlainXML {
  struct Element {
    let name: String
    var attributes: [(name: String, value: String)] = []
    var namespaces = 0
    var children: [Element] = []
    /// All text within it.
    var text = ""
  }

  private(set) var root: Element?

  private var rest: ArraySlice<Unicode.Scalar>
  /// The elements that have not ended, the outermost first.
  private var open: [Element] = []

  private struct NotXML: Error {}

  /// - Returns: nil for what makes no sense, or has a document type.
  init?(_ text: String) {
    let lines = text.unicodeScalars.split(separator: "\r", omittingEmptySubsequences: false)
    rest = []
    for (index, line) in lines.enumerated() {
      if index > 0, line.first != "\n" { rest.append("\n") }
      rest += line
    }
    do throws(NotXML) {
      while let next = rest.popFirst() {
        switch next {
        case "<": try readTag()
        case "&": add([try reference()])
        default:
          add([next])
          let text = rest.prefix { $0 != "<" && $0 != "&" }
          add(text)
          rest = rest.dropFirst(text.count)
        }
      }
    } catch {
      return nil
    }
    guard root != nil, open.isEmpty else { return nil }
  }

  private mutating func add(_ text: ArraySlice<Unicode.Scalar>) {
    if !open.isEmpty { open[open.count - 1].text.unicodeScalars += text }
  }

  private mutating func readTag() throws(NotXML) {
    if take("!--") {
      _ = try take(until: "-->")
    } else if take("![CDATA[") {
      add(Array(try take(until: "]]>").unicodeScalars)[...])
    } else if take("?") {
      _ = try take(until: "?>")
    } else if take("/") {
      _ = try take(until: ">")
      try end()
    } else if take("!") {
      throw NotXML()
    } else {
      open.append(Element(name: takeName()))
      while skipBlanks(), !take(">") {
        if take("/>") { return try end() }
        try readAttribute()
      }
    }
  }

  private mutating func readAttribute() throws(NotXML) {
    let name = takeName()
    skipBlanks()
    guard !name.isEmpty, take("=") else { throw NotXML() }
    skipBlanks()
    guard let quote = rest.popFirst(), quote == "\"" || quote == "'" else { throw NotXML() }
    var value = String.UnicodeScalarView()
    while let next = rest.popFirst(), next != quote {
      value.append(next == "&" ? try reference() : next == "\t" || next == "\n" ? " " : next)
    }
    if name.utf8.elementsEqual("xmlns".utf8) || name.utf8.starts(with: "xmlns:".utf8) {
      open[open.count - 1].namespaces += 1
    } else {
      open[open.count - 1].attributes.append((name, String(value)))
    }
  }

  private mutating func end() throws(NotXML) {
    guard let element = open.popLast() else { throw NotXML() }
    guard !open.isEmpty else { return root = element }
    open[open.count - 1].text += element.text
    open[open.count - 1].children.append(element)
  }

  /// What stands between an ampersand and a semicolon.
  private mutating func reference() throws(NotXML) -> Unicode.Scalar {
    let name = try take(until: ";")
    let known: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    if let scalar = known[name] { return scalar }
    let isHexadecimal = name.hasPrefix("#x")
    guard name.hasPrefix("#"),
      let number = UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10),
      let scalar = Unicode.Scalar(number)
    else { throw NotXML() }
    return scalar
  }

  private mutating func takeName() -> String {
    let name = rest.prefix { !isBlank($0) && $0 != "/" && $0 != ">" && $0 != "=" }
    rest = rest.dropFirst(name.count)
    return String(String.UnicodeScalarView(name))
  }

  private mutating func take(_ word: String) -> Bool {
    guard rest.starts(with: word.unicodeScalars) else { return false }
    rest = rest.dropFirst(word.unicodeScalars.count)
    return true
  }

  private mutating func take(until end: String) throws(NotXML) -> String {
    var text = String.UnicodeScalarView()
    while !take(end) {
      guard let next = rest.popFirst() else { throw NotXML() }
      text.append(next)
    }
    return String(text)
  }

  /// - Returns: whether anything follows.
  @discardableResult
  private mutating func skipBlanks() -> Bool {
    rest = rest.drop(while: isBlank)
    return !rest.isEmpty
  }

  private func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\n" }
}
