/// The faces that a whole hub shows. A further one belongs in here, so that nobody can serve a whole site without it.
public struct HubRoutes: Sendable {
  private let carma: CarmaRoutes
  private let admin: ManagementRoutes
  private let pages: PageRoutes
  private let description: DescriptionRoutes
  private let hub: HealthRoutes

  public init(
    carma: CarmaRoutes, admin: ManagementRoutes, pages: PageRoutes, description: DescriptionRoutes, hub: HealthRoutes
  ) {
    self.carma = carma
    self.admin = admin
    self.pages = pages
    self.description = description
    self.hub = hub
  }

  public var all: [any RouteSet] { [carma, admin, pages, description, hub] }
}
