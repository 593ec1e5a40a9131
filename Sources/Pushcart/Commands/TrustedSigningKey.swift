import ArgumentParser
import Simulator

/// A team's signing key that the Simulator is to check signatures by: `TEAM/KEY=FILE.p8`.
struct TrustedSigningKey: ExpressibleByArgument {
  let teamID: String
  let keyID: String
  let file: String

  init?(argument: String) {
    let sides = argument.split(separator: "=", maxSplits: 1)
    guard sides.count == 2 else { return nil }
    let names = sides[0].split(separator: "/", omittingEmptySubsequences: false)
    guard names.count == 2, names.allSatisfy({ !$0.isEmpty }) else { return nil }
    teamID = String(names[0])
    keyID = String(names[1])
    file = String(sides[1])
  }

  /// - Throws: `CommandFailure` that names the file.
  func register(with apns: SimulatedAPNs) throws {
    let text = try InputFile(file).text
    do {
      try apns.trust(teamID: teamID, keyID: keyID, signingKey: text)
    } catch {
      throw CommandFailure("The file \(file) is no signing key: a .p8 file, as Apple hands it out, is.")
    }
  }
}
