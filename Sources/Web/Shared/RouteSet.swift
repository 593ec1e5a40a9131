/// A set of routes, such as Carma's REST or the rich pages.
public protocol RouteSet: Sendable {
  func addRoutes(to routes: RouteTable)
}

/// All routes of a hub. A further set belongs in here, so that no hub can be served without it.
public struct HubRoutes: Sendable {
  private let carma: CarmaRoutes
  private let carmaLists: CarmaListRoutes
  private let carmaTriggers: CarmaTriggerRoutes
  private let carmaImports: CarmaImportRoutes
  private let hybrid: HybridRoutes
  private let softphone: SoftphoneRoutes
  private let gateway: GatewayRoutes
  private let geoIP: GeoIPRoutes
  private let dataTree: DataTreeRoutes
  private let management: ManagementRoutes
  private let console: ConsoleRoutes
  private let pages: PageRoutes
  private let unsubscribe: UnsubscribeRoutes
  private let smsStatus: SMSStatusRoutes
  private let description: DescriptionRoutes
  private let health: HealthRoutes
  private let metrics: MetricsRoutes

  public init(
    carma: CarmaRoutes, carmaLists: CarmaListRoutes, carmaTriggers: CarmaTriggerRoutes, carmaImports: CarmaImportRoutes,
    hybrid: HybridRoutes,
    softphone: SoftphoneRoutes,
    gateway: GatewayRoutes, geoIP: GeoIPRoutes, dataTree: DataTreeRoutes, management: ManagementRoutes,
    console: ConsoleRoutes, pages: PageRoutes, unsubscribe: UnsubscribeRoutes, smsStatus: SMSStatusRoutes,
    description: DescriptionRoutes,
    health: HealthRoutes,
    metrics: MetricsRoutes
  ) {
    self.carma = carma
    self.carmaLists = carmaLists
    self.carmaTriggers = carmaTriggers
    self.carmaImports = carmaImports
    self.hybrid = hybrid
    self.softphone = softphone
    self.gateway = gateway
    self.geoIP = geoIP
    self.dataTree = dataTree
    self.management = management
    self.console = console
    self.pages = pages
    self.unsubscribe = unsubscribe
    self.smsStatus = smsStatus
    self.description = description
    self.health = health
    self.metrics = metrics
  }

  /// For one listener that serves everything.
  public var all: [any RouteSet] { clients + [management, console, description, metrics] }

  /// What apps, their back ends and phones ask for.
  public var clients: [any RouteSet] {
    [
      carma, carmaLists, carmaTriggers, carmaImports, hybrid, gateway, geoIP, softphone, dataTree, pages, unsubscribe,
      smsStatus, health,
    ]
  }

  /// What operators ask for: management, its description, the console and metrics. Both listeners answer about their health.
  public var operations: [any RouteSet] { [management, console, description, health, metrics] }
}
