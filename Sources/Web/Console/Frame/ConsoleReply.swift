import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Wire

/// Replies of the console.
enum ConsoleReply {
  /// Nothing but the hub's own files: neither scripts nor styles in the page, no frames of others, and no page that frames this one.
  static let policy = """
    default-src 'self'; img-src 'self' data: https:; frame-src 'self'; form-action 'self'; base-uri 'none'; \
    object-src 'none'; frame-ancestors 'none'
    """
  /// Of a rich page that is shown in a frame of the console: nothing in it runs, and nothing of the console can be reached.
  static let framedPolicy = """
    sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: https:; font-src data: https:; \
    frame-ancestors 'self'
    """

  static func html(
    _ html: String, _ status: HTTPResponse.Status = .ok, policy: String = policy, setting cookies: [HTTPField] = []
  ) -> Response {
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .contentSecurityPolicy: policy, .cacheControl: "no-store",
      .xContentTypeOptions: "nosniff", .referrerPolicy: "same-origin",
    ]
    for cookie in cookies { headers.append(cookie) }
    return Response(
      status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }

  /// A part of a page that is read again and again: 304 while it is the same.
  static func part(_ html: String, to request: Request) -> Response {
    let tag = "\"" + Base64URL.text(Array(SHA256.hash(data: Data(html.utf8)).prefix(12))) + "\""
    var reply = self.html(html)
    if request.headers[.ifNoneMatch] == tag {
      reply = Response(status: .notModified, headers: [.cacheControl: "no-store"])
    }
    reply.headers[.eTag] = tag
    return reply
  }

  /// A page that says why something was refused, and when to try again where the refusal does.
  static func html(
    _ html: String, refusing refusal: HTTPErrorResponse?, setting cookies: [HTTPField] = []
  ) -> Response {
    var reply = self.html(html, refusal?.status ?? .ok, setting: cookies)
    reply.headers[.retryAfter] = refusal?.headers[.retryAfter]
    return reply
  }

  static func see(_ path: String, setting cookies: [HTTPField] = []) -> Response {
    var headers: HTTPFields = [.location: path, .cacheControl: "no-store", .referrerPolicy: "same-origin"]
    for cookie in cookies { headers.append(cookie) }
    return Response(status: .seeOther, headers: headers)
  }
}
