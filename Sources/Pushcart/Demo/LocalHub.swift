import FoundationEssentials
import Postgres
import Registry

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The folder in which `pushcart demo` keeps a private hub, and what lies where in it.
struct LocalHub: Sendable {
  /// Absolute.
  let folder: String
  /// Where data and secrets are: always beside each other, since neither is of use without the other. It is the folder, unless
  /// that is closed to the user whom root runs PostgreSQL as.
  let home: String

  init(folder: String = ".pushcart") {
    self.folder = folder.hasPrefix("/") ? folder : "\(FileManager.default.currentDirectoryPath)/\(folder)"
    home = self.folder
  }

  /// The same hub, with its secrets where its PostgreSQL is.
  init(_ local: LocalHub, beside cluster: PrivateCluster) {
    folder = local.folder
    home = cluster.home == local.cluster ? local.folder : cluster.home
  }

  /// The private PostgreSQL.
  var cluster: String { "\(folder)/postgres" }
  /// Settings of the hub that was last started here, as any settings file; commands in the same folder find it.
  var settingsFile: String { "\(folder)/settings.json" }
  /// The master key it made for itself.
  var masterKeyFile: String { "\(home)/master.key" }
  /// The access key of the sample customer, kept so that every start can print it.
  var sampleKeyFile: String { "\(home)/sample.key" }
  /// The sample app's signing key, which the Simulator knows too.
  var signingKeyFile: String { "\(home)/AuthKey_SAMPLEKEY0.p8" }
  /// Certificate of the authority that the Simulator's APNs is known by.
  var caFile: String { "\(folder)/simulator-ca.pem" }

  /// The settings file of the hub that runs in this folder.
  static var settingsIfPresent: String? {
    let local = LocalHub()
    return local.isRunning == true ? local.settingsFile : nil
  }

  /// Whether there is a hub in this folder that does not run.
  static var isAsleep: Bool { LocalHub().isRunning == false }

  /// Nil if there is no hub here. PostgreSQL takes its socket away when it ends.
  private var isRunning: Bool? {
    guard let settings = FileManager.default.contents(atPath: settingsFile) else { return nil }
    guard let directory = String(decoding: settings, as: UTF8.self).firstMatch(of: #/host='([^']+)'/#) else {
      return nil
    }
    return FileManager.default.fileExists(atPath: "\(directory.1)/.s.PGSQL.5432")
  }

  func makeFolder() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// What a file holds that only its owner may read; made by `make` if it is not there.
  func secret(_ file: String, make: () throws -> String) throws -> String {
    if let data = FileManager.default.contents(atPath: file) { return String(decoding: data, as: UTF8.self) }
    let text = try make()
    try keep(text, in: file)
    return text
  }

  /// Writes a file that only its owner may read. It is there whole or not at all.
  func keep(_ text: String, in file: String) throws {
    let draft = "\(file).new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure("\(file) cannot be written: \(String(cString: strerror(errno)))")
    }
    let bytes = Array(text.utf8)
    let written = write(descriptor, bytes, bytes.count)
    fsync(descriptor)
    close(descriptor)
    guard written == bytes.count, rename(draft, file) == 0 else {
      throw CommandFailure("\(file) cannot be written: \(String(cString: strerror(errno)))")
    }
  }
}
