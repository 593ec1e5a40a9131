/// Every page and every action of the console, a line for each part.
enum ConsolePages {
  static let all: [ConsolePage] = parts.flatMap(\.pages)
  static let actions: [ConsoleAction] = parts.flatMap(\.actions)

  private static let parts: [(pages: [ConsolePage], actions: [ConsoleAction])] = []
}
