/// A platform, in Carma's numbers (Carma iOS Integration Guide, "Carma device token registration").
public enum AppType: Int16, Sendable, Hashable, Codable, CaseIterable {
  case ios = 1
  case android = 2
  case windows = 3
  case firebase = 6
}
