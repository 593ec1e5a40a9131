public import ArgumentParser
public import Wire

extension CustomerID: ExpressibleByArgument {}
extension AccessKeyID: ExpressibleByArgument {}
extension PushAppID: ExpressibleByArgument {}
extension ListID: ExpressibleByArgument {}
extension DeviceID: ExpressibleByArgument {}
extension SendoutID: ExpressibleByArgument {}
extension AccessScope: ExpressibleByArgument {}
extension PushState: ExpressibleByArgument {}
extension UncertainPolicy: ExpressibleByArgument {}
extension Report: ExpressibleByArgument {}

extension AppType: ExpressibleByArgument {
  /// By name, as in `ios`, or in Carma's numbers.
  public init?(argument: String) {
    guard let type = Self.allCases.first(where: { $0.name == argument.lowercased() || "\($0.rawValue)" == argument })
    else { return nil }
    self = type
  }

  public static var allValueStrings: [String] { allCases.map(\.name) }
  public static var allValueDescriptions: [String: String] { [:] }
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

extension Badge: ExpressibleByArgument {
  /// A number, or a template that gives one.
  public init?(argument: String) { self = Int(argument).map { .number($0) } ?? .template(argument) }
}
