/// Bodies of Carma's API, and of the hub's health.
enum CarmaSchemas {
  static let all: [SiteDescription.NamedSchema] = [
    .init(name: "PushDevicesRequest", schema: .openObject()),
    .init(name: "InvalidationRequest", schema: .openObject()),
    .init(name: "Contact", schema: .openObject()),
    .init(name: "Health", schema: .openObject([.always("status", .text())], "Whether all is well.")),
  ]
}
