extension ConsoleRoutes {
  func addAccount(to routes: RouteTable) {}
}
