/// A port of a simulated service, as commands name it.
public struct SimulatedPort: Sendable {
  /// Without its hyphens, such as `fcm-port`.
  public let option: String
  public let usual: Int
  /// What is there, for the command that is the Simulator: `FCM and Google's token endpoint`.
  public let help: String
  /// A short name, for other commands: `FCM`.
  public let name: String
}
