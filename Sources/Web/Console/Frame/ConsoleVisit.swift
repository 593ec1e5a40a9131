import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Wire

/// A request for the console: its cookies, and whether it came by https.
struct ConsoleVisit: Sendable {
  let request: Request
  let context: WebRequestContext
  /// Whether cookies can be those of https alone.
  let isSecure: Bool
  private let cookies: [String: String]

  /// - Parameter consoleURL: a console that is known by https has it at its own name; elsewhere the proxy says.
  init(_ request: Request, _ context: WebRequestContext, consoleURL: String) {
    self.request = request
    self.context = context
    let secureName = consoleURL.hasPrefix("https://") ? consoleURL.dropFirst(8).prefix { $0 != "/" } : ""
    isSecure =
      request.headers[.forwardedProto] == "https"
      || !secureName.isEmpty && request.head.authority.map { secureName.hasSameBytes(as: $0) } == true
    var cookies: [String: String] = [:]
    for header in request.headers[values: .cookie] {
      for pair in header.split(separator: ";") {
        let parts = pair.trimmed.split(separator: "=", maxSplits: 1)
        if parts.count == 2 { cookies[String(parts[0])] = String(parts[1]) }
      }
    }
    self.cookies = cookies
  }

  /// Path and query, to come back to.
  var location: String { request.uri.string }

  /// Whether only a part of the page is wanted.
  var part: String? { request.uri.queryParameters["part"].map { String($0) } }

  var address: String { context.clientAddress.description }

  // MARK: Cookies

  enum Cookie: String {
    /// The session's token.
    case session = "pushcart"
    /// What the next page says once.
    case notice = "pushcart-notice"
    /// Of forms before sign-in.
    case form = "pushcart-form"
    /// What a sign-in by the OpenID provider began with.
    case openID = "pushcart-openid"
    /// `light` or `dark`; the system's own without it.
    case theme = "pushcart-theme"
    /// `off` without keys.
    case keys = "pushcart-keys"
  }

  subscript(_ cookie: Cookie) -> String? {
    cookies[name(of: cookie)].flatMap { PercentEncoding.decode($0.utf8) }
  }

  /// A field that sets a cookie, for scripts of no page.
  /// - Parameters:
  ///   - value: empty to remove it.
  ///   - seconds: how long it lives; `nil` for as long as the browser is open.
  func setting(_ cookie: Cookie, _ value: String, for seconds: Int? = nil) -> HTTPField {
    var text = "\(name(of: cookie))=\(PercentEncoding.encode(value)); Path=/; HttpOnly; SameSite=Lax"
    if let seconds = value.isEmpty ? 0 : seconds { text += "; Max-Age=\(seconds)" }
    if isSecure { text += "; Secure" }
    return HTTPField(name: .setCookie, value: text)
  }

  /// Browsers take `__Host-` from this very host alone, and with https alone.
  private func name(of cookie: Cookie) -> String { (isSecure ? "__Host-" : "") + cookie.rawValue }

  // MARK: Forms

  /// Most fields of a form. No page has as many.
  private static let mostFields = 2000

  /// The form that was sent.
  /// - Throws: `HTTPErrorResponse`: 413, 415, 400; 403 when another site's page sent it.
  func form(upTo limit: Int = Limits.body) async throws -> FormValues {
    try requireOwnPage()
    if let type = request.headers[.contentType], MultipartParser.isType(type) {
      return FormValues(try await MultipartForm(request, upTo: limit, parts: Self.mostFields).texts())
    }
    guard FormFields.isType(request.headers[.contentType]) else {
      throw HTTPErrorResponse(
        .unsupportedMediaType, "The body must be a form, sent as \(FormFields.type) or multipart/form-data.")
    }
    let bytes = try await request.bytes(upTo: limit)
    let pairs = try FormFields.pairs(of: "form", bytes.readableBytesView)
    guard pairs.count <= Self.mostFields else { throw HTTPErrorResponse.badRequest("The form has too many fields.") }
    return FormValues(pairs)
  }

  /// A form with a file that may be larger than memory. Its first part has to be the session's token, so that nothing is taken before.
  /// - Throws: `HTTPErrorResponse`: 413, 415, 400; 403 when another site's page sent it, or the token is another.
  func upload(upTo limit: Int, token: String) async throws -> MultipartForm.Iterator {
    try requireOwnPage()
    var parts = try MultipartForm(request, upTo: limit).makeAsyncIterator()
    let first = try await parts.field(upTo: 512)
    try require(token, in: FormValues(first.map { [$0] } ?? []))
    return parts
  }

  /// Whether the form has this token.
  func has(_ token: String?, in form: FormValues) -> Bool {
    guard let token, let sent = form.text("csrf") else { return false }
    return sent.isSame(as: token)
  }

  /// - Throws: `HTTPErrorResponse` (403) unless the form has this token.
  func require(_ token: String?, in form: FormValues) throws {
    guard has(token, in: form) else {
      throw HTTPErrorResponse(
        .forbidden, "This form is older than your session. Nothing was done: load the page again, and send it again.")
    }
  }

  /// Browsers say with each POST whose page sent it.
  private func requireOwnPage() throws {
    let isOwn: Bool
    if let site = request.headers[.fetchSite] {
      isOwn = site == "same-origin" || site == "none"
    } else if let origin = request.headers[.origin], let authority = request.head.authority {
      isOwn = origin.hasSuffix("://" + authority)
    } else {
      isOwn = request.headers[.origin] == nil
    }
    guard isOwn else { throw HTTPErrorResponse(.forbidden, "A page of another site sent this. Nothing was done.") }
  }
}

extension String {
  /// Whether both are the same, in a time that does not tell where they differ.
  func isSame(as other: String) -> Bool {
    utf8.count == other.utf8.count && zip(utf8, other.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
