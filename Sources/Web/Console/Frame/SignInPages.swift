extension ConsoleRoutes {
  func addSignIn(to routes: RouteTable) {}
}
