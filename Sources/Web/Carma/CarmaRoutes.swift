import HTTPTypes
import Hummingbird
public import Registry

/// Carma's REST as the integration guide prints it: what apps and their back ends register devices with.
///
/// The guide has two spellings of the path; both answer.
public struct CarmaRoutes: RouteSet {
  let authenticator: Authenticator
  let pushApps: PushAppCache
  let registrations: RegistrationBatcher
  let contacts: ContactLookup
  let devices: Devices
  let identities: IdentityVerifier

  public init(
    authenticator: Authenticator, pushApps: PushAppCache, registrations: RegistrationBatcher, contacts: ContactLookup,
    devices: Devices, identities: IdentityVerifier
  ) {
    self.authenticator = authenticator
    self.pushApps = pushApps
    self.registrations = registrations
    self.contacts = contacts
    self.devices = devices
    self.identities = identities
  }

  public func addRoutes(to routes: RouteTable) {
    for name in ["pushdevices", "devices"] {
      let path = "/rest/{customerId}/apps/{appId}/\(name)"
      routes.fast(.put, path, bound: .ownApp, use: register)
      routes.fast(.put, "\(path)/invalidation", bound: .ownApp, use: invalidate)
      // Browsers register themselves.
      routes.openToPages(RouterPath(path))
      routes.openToPages(RouterPath("\(path)/invalidation"))
      routes.fast(.get, "\(path)/{originalId}", bound: .ownApp, use: show)
      // A contact may be called so, too; the router looks at the plain word only.
      routes.fast(.get, "\(path)/invalidation", bound: .ownApp, use: show)
    }
  }
}
