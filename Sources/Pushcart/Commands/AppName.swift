import ArgumentParser
import Registry
import Wire

/// How a command names an app: by its number, or by its app id, with the platform behind a slash if there are several, as in
/// `com.acme.app/ios`.
struct AppName: ExpressibleByArgument {
  private let text: String

  init?(argument: String) { text = argument }

  /// - Throws: `RegistryError.pushAppUnknown`, `.appUnknown`, `.appAmbiguous`.
  func find(_ customer: CustomerID, in stores: ManagementStores) async throws -> PushApp {
    if let id = PushAppID(text) {
      guard let app = try await stores.apps.find(customer, id) else { throw RegistryError.pushAppUnknown(id) }
      return app
    }
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    if parts.count == 2, let type = AppType(argument: parts[1]) {
      return try await stores.apps.resolve(customer, appID: parts[0], type: type)
    }
    return try await stores.apps.resolve(customer, appID: text)
  }
}
