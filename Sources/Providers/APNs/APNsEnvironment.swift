/// Where a device token is valid, and nowhere else: TestFlight and App Store builds are `production`, builds run from
/// Xcode are `sandbox`. The wrong one answers 400 BadDeviceToken.
public enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
  case production
  case sandbox
}
