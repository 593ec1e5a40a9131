import Delivery
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Sendouts

/// The replies to phones; their headers are made once.
final class PageReplies: Sendable {
  private let headers: HTTPFields
  let notFound: Response
  let gone: Response
  let unavailable: Response
  let read: Response

  /// - Parameter formAction: where forms of the pages may go, as `form-action` of Content-Security-Policy takes it.
  init(_ settings: PageSettings, formAction: String = "'none'") {
    headers = Self.headers(settings, formAction)
    notFound = Self.plain(.notFound, "There is nothing here", headers)
    gone = Self.plain(.gone, "This is gone", headers)
    var later = headers
    later[.retryAfter] = HTTPErrorResponse.inAMoment[.retryAfter]
    unavailable = Self.plain(.serviceUnavailable, "Try again in a moment", later)
    read = Response(status: .noContent, headers: [.cacheControl: "no-store"])
  }

  /// The reply that `response` makes of a result; 404 if it makes none, 410 for somebody who was erased, 503 if the database or the hub is overloaded or away.
  /// - Throws: any other error.
  func reply<Success>(
    to result: Result<Success, any Error>, _ response: (Success) -> Response?
  ) throws -> Response {
    do {
      return response(try result.get()) ?? notFound
    } catch DeliveryError.contactErased {
      return gone
    } catch {
      guard ErrorReplies.response(for: error)?.status == .serviceUnavailable else { throw error }
      return unavailable
    }
  }

  /// As `error` says, but as a page.
  func tooManyRequests(_ error: HTTPErrorResponse) -> Response {
    var headers = headers
    headers[.retryAfter] = error.headers[.retryAfter]
    return Self.plain(.tooManyRequests, "Try again in a moment", headers)
  }

  func page(_ page: RenderedPage) -> Response {
    var headers = headers
    headers[.contentType] = page.contentType
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: page.body)))
  }

  /// A page of the hub's own.
  func page(_ html: String, status: HTTPResponse.Status) -> Response {
    var headers = headers
    headers[.contentType] = "text/html; charset=utf-8"
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }

  /// A page may show images and its own styles and nothing else: no scripts, frames or forms but the hub's own, whatever its template or a
  /// contact's field says. It is personal, so nobody may store it. Its address opens it, so no other site may learn that.
  private static func headers(_ settings: PageSettings, _ formAction: String) -> HTTPFields {
    [
      .contentSecurityPolicy:
        "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; form-action \(formAction); "
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
