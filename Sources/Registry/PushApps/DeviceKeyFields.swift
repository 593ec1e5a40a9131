public import Wire

/// Which contact fields and properties a request with a device key may write.
///
/// A device key lies in every copy of an app, so whoever unpacks one can use it for any contact. What the list does not name is
/// ignored and not refused: apps that are installed already send all fields, and must go on working.
public struct DeviceKeyFields: Sendable, Equatable {
  /// Names such as `firstName`, `listId`, `properties` for all of them, or `properties.food` for one.
  public let names: [String]
  /// Names of single properties.
  private let properties: Set<UTF8String>
  private let isLimited: Bool

  /// What stands for no limit in requests.
  public static let all = "all"
  static let fixedNames = ContactField.allCases.map(\.name) + ["listId", "dateOfBirth", "properties"]

  /// - Throws: `RegistryError.invalid`, for a name that is no contact field and no property.
  public init(_ names: [String]) throws(RegistryError) {
    guard names.count <= 100 else { throw .invalid(field: "deviceFields", problem: "holds more than 100 names") }
    for name in names where !Self.fixedNames.contains(name) {
      guard name.utf8.starts(with: Self.propertyPrefix.utf8), name.utf8.count > Self.propertyPrefix.utf8.count,
        name.utf8.count <= 400, !name.utf8.contains(0)
      else {
        throw .invalid(
          field: "deviceFields",
          problem:
            "holds a name that is not one of \(Self.fixedNames.joined(separator: ", ")) or, as in properties.food, a property"
        )
      }
    }
    self.init(stored: names)
  }

  init(stored names: [String]) {
    self.names = names
    properties = Set(
      names.filter { $0.utf8.starts(with: Self.propertyPrefix.utf8) }
        .map { UTF8String(String(Substring($0.utf8.dropFirst(Self.propertyPrefix.utf8.count)))) })
    isLimited = !names.contains("properties")
  }

  private static let propertyPrefix = "properties."

  /// Those parts of the body that the key may write, each copied by its name: what a body gains is not writable until it is listed here.
  /// - Throws: `JSONProblem` for properties that are not JSON, which no body that was read has.
  public func restrict(_ body: PushDevicesBody) throws -> PushDevicesBody {
    var restricted = PushDevicesBody()
    (restricted.originalId, restricted.deviceInfo) = (body.originalId, body.deviceInfo)
    restricted.texts = ContactTexts { names.contains($0.name) ? body.texts[$0] : nil }
    if names.contains("listId") { restricted.listId = body.listId }
    if names.contains("dateOfBirth") { restricted.dateOfBirth = body.dateOfBirth }
    restricted.properties = body.properties
    if isLimited { try restricted.keepProperties(properties) }
    return restricted
  }
}

extension [PushApp] {
  /// What a device key may write of a body: each of the customer's apps that has a list has to allow a field.
  /// - Throws: as `DeviceKeyFields.restrict`.
  public func restrict(_ body: PushDevicesBody) throws -> PushDevicesBody {
    try compactMap(\.deviceFields).reduce(body) { try $1.restrict($0) }
  }
}
