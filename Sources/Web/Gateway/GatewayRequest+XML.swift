import Wire
import XML

extension GatewayRequest {
  /// Reads XML: `MESSAGES`, which holds `AUTHENTICATION` and `MSG`. Names are in any case, and unknown elements are ignored.
  /// - Throws: `GatewayProblem` for what is wrong with the request as a whole.
  init(xml bytes: [UInt8]) throws(GatewayProblem) {
    // Bounds the tree: a request within the other limits has fewer.
    guard bytes.count(where: { $0 == UInt8(ascii: "<") }) <= Self.maximumTags else {
      throw .malformed("The XML has more than \(Self.maximumTags) tags.")
    }
    let root: ParsedXML
    do throws(ParsedXML.Failure) { root = try ParsedXML(bytes) } catch { throw .malformed("The XML \(error.problem).") }
    guard root.name.lowercasedASCII == "messages" else { throw .malformed("The XML must have MESSAGES as its root.") }
    self.init()
    productToken = root.children("AUTHENTICATION").first?.text("PRODUCTTOKEN").map { String($0.trimmed) }
    let nodes = root.children("MSG")
    guard !nodes.isEmpty else { throw .noMessages }
    var total = 0
    for node in nodes {
      let message = Message(node)
      total += message.recipients.count
      try Self.checkCount(of: message.recipients.count, total: total)
      try add(message)
    }
  }

  private static let maximumTags = 100_000
}

extension GatewayRequest.Message {
  fileprivate init(_ node: ParsedXML) {
    self.init()
    for field in node.children {
      switch field.name.lowercasedASCII {
      case "from": sender = field.text
      case "to": recipients.append(field.text)
      case "body":
        text = field.text
        textType = field.attribute("TYPE")
      case "reference": reference = field.text
      case "appkey": appKey = field.text
      case "appmessagetype": kind = field.text
      case "allowedchannels":
        channels += field.text.split(maxSplits: 16) { ",;".contains($0) || $0.isWhitespace }.map(String.init)
      case "validity": validity = field.text
      case "dcs": coding = field.text
      case "minimumnumberofmessageparts": minimumParts = field.text
      case "maximumnumberofmessageparts": maximumParts = field.text
      default: break
      }
    }
  }
}
