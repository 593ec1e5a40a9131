public import Registry
public import Wire

extension TestDatabase {
  /// A customer to hang things on.
  public func customer(_ name: String = "ACME") async throws -> CustomerID {
    try await Customers(pool).add(name: name).id
  }
}

extension Vault {
  /// A vault of a key of its own.
  public static func fresh() throws -> Vault { Vault(try MasterKeys(current: MasterKeys.generate())) }
}

extension PushDevicesBody {
  /// A contact with one device.
  public init(_ originalID: String, firstName: String? = nil, token: String, type: AppType? = nil) {
    self.init(originalId: originalID, deviceInfo: [.init(deviceToken: token, appType: type)])
    texts[.firstName] = firstName
  }
}
