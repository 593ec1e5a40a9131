import HTTPTypes
public import Hummingbird
import Wire

/// `GET /v1.0/geoip` of CM Hybrid Messaging: answers where the address of a phone is.
public struct GeoIPRoutes: RouteSet {
  private let countries: CountryDatabase?
  private let authenticate: @Sendable (Request, WebRequestContext) async throws -> Void

  /// - Parameters:
  ///   - countries: nil for a hub that knows none.
  ///   - authenticate: throws if the request is refused.
  public init(
    countries: CountryDatabase?,
    authenticate: @escaping @Sendable (Request, WebRequestContext) async throws -> Void = { _, _ in }
  ) {
    self.countries = countries
    self.authenticate = authenticate
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/v1.0/geoip", bound: .noKey) { request, context in
      try await authenticate(request, context)
      return Self.answer(context, countries)
    }
  }

  /// The client's address and its country, or nulls. A proxy's word about the address counts as everywhere: only if it is trusted.
  static func answer(_ context: WebRequestContext, _ countries: CountryDatabase?) -> Response {
    let country = countries?.country(of: context.clientAddress)
    var json = JSONWriter()
    json.open("{")
    json.member("Ip", context.clientAddress.description)
    json.member("CountryCode", country?.code)
    json.member("CountryName", country?.name)
    json.close("}")
    return JSONReply.make(json: json.bytes)
  }
}
