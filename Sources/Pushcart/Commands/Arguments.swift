import ArgumentParser
import Wire

extension CustomerID: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension AccessKeyID: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension PushAppID: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension ListID: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension SendoutID: @retroactive ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension AccessScope: @retroactive ExpressibleByArgument {}

extension AppType: @retroactive ExpressibleByArgument {
  /// By name, as in `ios`, or in Carma's numbers.
  public init?(argument: String) {
    guard let type = Self.allCases.first(where: { $0.name == argument.lowercased() || "\($0.rawValue)" == argument })
    else { return nil }
    self = type
  }

  public static var allValueStrings: [String] { allCases.map(\.name) }
  public var defaultValueDescription: String { name }

  /// As the command line calls it.
  var name: String {
    switch self {
    case .ios: "ios"
    case .android: "android"
    case .windows: "windows"
    case .firebase: "firebase"
    }
  }
}
