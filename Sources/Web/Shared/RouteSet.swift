/// One of the faces the hub shows: a set of routes, such as Carma's REST or the rich pages.
public protocol RouteSet: Sendable {
  func addRoutes(to routes: RouteTable)
}
