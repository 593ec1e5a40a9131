import FoundationEssentials
import Wire

extension SMSRequestTemplate {
  /// The request for a message.
  func request(_ sms: OutgoingSMS, path: String) -> PushRequest {
    let filled = filled(with: sms)
    let isQuery = contentType == .query
    let body = isQuery ? [] : Array(filled.utf8)
    var headers = RequestHeaders()
    headers.add(":path", isQuery ? path + (path.contains("?") ? "&" : "?") + filled : path, .never)
    if let type = mediaType { headers.add("content-type", type) }
    for (name, value) in (self.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
      let name = name.lowercasedASCII
      if name != "content-type" || isQuery { headers.add(name: name, value, .never) }
    }
    var request = PushRequest(headers: headers, body: body)
    request.method = method?.lowercasedASCII == "get" || method == nil && isQuery ? .get : .post
    if request.method == .post { request.headers.add("content-length", String(body.count), .changing) }
    // For previews: what surrounds the text can be secret.
    let text = Array(sms.text.text.utf8)
    request.source = EncryptedSource(text, encrypt: { body }, smaller: { nil })
    return request
  }

  private var mediaType: String? {
    switch contentType {
    case .json: "application/json"
    case .form: "application/x-www-form-urlencoded"
    case .xml: "text/xml; charset=utf-8"
    case .query: nil
    }
  }

  /// The body with the message's values in place of the placeholders. What a value holds is never taken for a placeholder.
  func filled(with sms: OutgoingSMS) -> String {
    let values = [
      "to": sms.to.international, "to_plus": sms.to.e164, "from": sms.from, "text": sms.text.text,
      "reference": sms.reference,
    ]
    var filled = ""
    var rest = body[...]
    while let open = rest.firstIndex(of: "{") {
      filled += rest[..<open]
      rest = rest[open...]
      // Looked for where the longest placeholder ends: a body of nothing but braces would take a second.
      if let close = rest.prefix(Self.longestPlaceholder).firstIndex(of: "}"),
        let value = values[String(rest[rest.index(after: open)..<close])]
      {
        filled += escaped(value)
        rest = rest[rest.index(after: close)...]
      } else {
        filled += "{"
        rest = rest.dropFirst()
      }
    }
    return filled + rest
  }

  private static let longestPlaceholder = "{reference}".count

  private func escaped(_ text: String) -> String {
    switch contentType {
    case .json:
      var bytes: [UInt8] = []
      JSONText.append(text, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    case .form, .query: return FormText.encoded(text)
    case .xml: return XMLText.escaped(text)
    }
  }
}

extension ResponseClassification {
  init(_ response: ServiceResponse, by template: SMSRequestTemplate) {
    let status = response.status
    if template.temporaryStatuses?.contains(status) ?? ([408, 425, 429].contains(status) || status >= 500) {
      self.init(verdict: .ofSMS("HTTP\(status)", response))
    } else if template.successStatuses?.contains(status) ?? (200..<300).contains(status) {
      self.init(verdict: template.accepts(response.body) ? .accepted : .payloadRefused(reason: .hub(.notAccepted)))
    } else if [401, 403].contains(status) {
      self.init(verdict: .credentialsRefused(reason: "HTTP\(status)"))
    } else {
      self.init(verdict: .payloadRefused(reason: "HTTP\(status)"))
    }
    reason = "HTTP\(status)"
  }
}

extension SMSRequestTemplate {
  /// Whether the body of a response with a status of success says so, too.
  fileprivate func accepts(_ body: [UInt8]) -> Bool {
    guard let successPath else { return true }
    var value = try? JSONValue(json: body)
    for name in successPath.split(separator: ".") {
      if case .array(let values) = value, let index = Int(name) {
        // No `? :`: beside a JSONValue, `nil` would be JSON's null.
        if values.indices.contains(index) { value = values[index] } else { value = nil }
      } else {
        value = value?[String(name)]
      }
    }
    guard let successValue else { return value.map { $0 != .null && $0 != .bool(false) } ?? false }
    guard let value else { return false }
    return value.text?.hasSameBytes(as: successValue) == true || value.json == Array(successValue.utf8)
  }
}
