import Providers
import Support

/// Signing keys, as .p8 files hold them.
enum APNsKey {
  /// The one that every Simulator knows.
  static let sample = APNsCredentials.sample.signingKey
  /// One that none knows.
  static func fresh() -> String { APNsCredentials.fresh().signingKey }
}
