import HTTPTypes
import Hummingbird
import NIOCore
import Sendouts

/// The few replies there are to a phone, their headers made once.
final class PageReplies: Sendable {
  private let headers: HTTPFields
  let notFound: Response
  let unavailable: Response
  let read: Response

  init(_ settings: PageSettings) {
    headers = Self.headers(settings)
    notFound = Self.plain(.notFound, "There is nothing here", headers)
    var later = headers
    later[.retryAfter] = "2"
    unavailable = Self.plain(.serviceUnavailable, "Try again in a moment", later)
    read = Response(status: .noContent, headers: [.cacheControl: "no-store"])
  }

  /// The reply that `response` makes of what was asked for; that there is nothing, if it makes none.
  /// - Throws: what went wrong, unless it is something that passes.
  func reply<Success>(
    to result: Result<Success, any Error>, _ response: (Success) -> Response?
  ) throws -> Response {
    do {
      return response(try result.get()) ?? notFound
    } catch {
      guard ErrorReplies.refusal(for: error)?.status == .serviceUnavailable else { throw error }
      return unavailable
    }
  }

  func page(_ page: RenderedPage) -> Response {
    var headers = headers
    headers[.contentType] = page.contentType
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: page.body)))
  }

  /// A page may show pictures and styles of its own and nothing else: it runs no script, sends no form and loads no frame,
  /// whatever its template, or a contact's field, says. It is personal, so nobody keeps it, and its address, which opens
  /// it, is told to nobody.
  private static func headers(_ settings: PageSettings) -> HTTPFields {
    [
      .contentSecurityPolicy:
        "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors \(settings.frameAncestors)",
      .cacheControl: "no-store",
      .xContentTypeOptions: "nosniff",
      .referrerPolicy: "no-referrer",
    ]
  }

  private static func plain(_ status: HTTPResponse.Status, _ sentence: String, _ headers: HTTPFields) -> Response {
    var headers = headers
    headers[.contentType] = "text/html; charset=utf-8"
    let page = """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>\(sentence)</title>
      <style>body { font: 1.1rem system-ui, sans-serif; margin: 20vh 10vw; text-align: center }</style>
      <h1>\(sentence)</h1>

      """
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
  }
}

extension HTTPField.Name {
  fileprivate static let referrerPolicy = HTTPField.Name.named("Referrer-Policy")

  private static func named(_ name: StaticString) -> HTTPField.Name {
    guard let name = HTTPField.Name("\(name)") else { preconditionFailure("not a field name: \(name)") }
    return name
  }
}
