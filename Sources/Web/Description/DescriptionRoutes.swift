import Hummingbird
import HTTPTypes
import NIOCore

/// `/openapi.json`, and `/swagger/` for people.
public struct DescriptionRoutes: RouteSet {
  private let document: ByteBuffer
  private let page: ByteBuffer

  /// - Parameter publicURL: where clients reach the hub, without a slash at its end.
  public init(publicURL: String) throws {
    let description = APIDescription.pushcart
    document = ByteBuffer(bytes: try JSONReply.encode(OpenAPIDocument.json(description, publicURL: publicURL)))
    page = ByteBuffer(string: ReferencePage(description: description, publicURL: publicURL).html)
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/openapi.json", bound: .noKey) { [document] _, _ in JSONReply.make(bytes: document) }
    routes.allowTrailingSlash("/swagger/")
    routes.add(.get, "/swagger/", bound: .noKey) { [page] request, _ in
      guard request.uri.path.hasSuffix("/") else {
        return Response(status: .permanentRedirect, headers: [.location: "/swagger/"])
      }
      return Response(
        status: .ok,
        headers: [
          .contentType: "text/html; charset=utf-8", .contentSecurityPolicy: ReferencePage.policy,
          .xContentTypeOptions: "nosniff", .cacheControl: "no-cache",
        ], body: ResponseBody(byteBuffer: page))
    }
  }
}
