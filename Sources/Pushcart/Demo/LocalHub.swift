import FoundationEssentials

/// The folder in which `pushcart demo` keeps a private hub, and what lies where in it.
struct LocalHub: Sendable {
  let folder: String

  init(folder: String = ".pushcart") { self.folder = folder }

  /// Settings of the hub that was last started here, as any settings file; commands in the same folder find it.
  var settingsFile: String { "\(folder)/settings.json" }
  /// The master key it made for itself.
  var masterKeyFile: String { "\(folder)/master.key" }
  /// The access key of the sample customer, kept so that every start can print it.
  var sampleKeyFile: String { "\(folder)/sample.key" }
  /// Certificate of the authority that the Simulator's APNs is known by.
  var caFile: String { "\(folder)/simulator-ca.pem" }

  static var settingsIfPresent: String? {
    let file = LocalHub().settingsFile
    return FileManager.default.isReadableFile(atPath: file) ? file : nil
  }
}
