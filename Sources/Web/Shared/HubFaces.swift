/// The faces that a whole hub shows. A further one belongs in here, so that nobody can serve a whole site without it.
public struct HubFaces: Sendable {
  private let carma: CarmaFace
  private let admin: AdminFace
  private let pages: PageFace
  private let description: DescriptionFace
  private let hub: HubFace

  public init(carma: CarmaFace, admin: AdminFace, pages: PageFace, description: DescriptionFace, hub: HubFace) {
    self.carma = carma
    self.admin = admin
    self.pages = pages
    self.description = description
    self.hub = hub
  }

  public var all: [any Face] { [carma, admin, pages, description, hub] }
}
