import Wire
import FoundationEssentials
import Postgres
import Registry

#if canImport(Glibc)
  // Modules that bring Foundation along make this the one that `stat` is declared by.
  import CoreFoundation
  import Glibc
#else
  import Darwin
#endif

/// The folder in which `pushcart demo` keeps a private hub, and the files in it.
struct LocalHub: Sendable {
  /// Absolute.
  let folder: String
  /// The folder of data and secrets, which need each other. It differs from `folder` only for root, if the user that runs
  /// PostgreSQL cannot enter `folder`.
  let home: String

  init(folder: String = ".pushcart") {
    self.folder = folder.hasPrefix("/") ? folder : "\(FileManager.default.currentDirectoryPath)/\(folder)"
    home = self.folder
  }

  /// The hub `local`, with its secrets beside its PostgreSQL.
  init(_ local: LocalHub, beside cluster: PrivateCluster) {
    folder = local.folder
    home = cluster.home == local.cluster ? local.folder : cluster.home
  }

  /// The private PostgreSQL.
  var cluster: String { "\(folder)/postgres" }
  /// Settings of the hub that was last started here. Commands in the same folder use them.
  var settingsFile: String { "\(folder)/settings.json" }
  /// The master key, generated at the first start.
  var masterKeyFile: String { "\(home)/master.key" }
  /// The access key of the sample customer, which every start prints.
  var sampleKeyFile: String { "\(home)/sample.key" }
  /// The sample page's access key.
  var siteKeyFile: String { "\(home)/sample-site.key" }
  /// The access key of scope gateway, which every start prints.
  var gatewayKeyFile: String { "\(home)/sample-gateway.key" }
  /// Certificate of the authority that signs the certificates of the Simulator.
  var caFile: String { "\(folder)/simulator-ca.pem" }

  /// What commands find in this folder.
  enum State {
    case absent
    case stopped
    /// Somebody else could have written the settings or brought them along. The problem is a sentence with its remedy, without a full stop.
    case untrusted(problem: String)
    case running(settings: [String: String])
  }

  /// The state of the hub in this folder. Its settings name a database and secrets. They count only if no other user
  /// could have written them, and if the database is this user's private PostgreSQL.
  var state: State {
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return errno == EACCES ? .untrusted(problem: unreadable(folder)) : .absent }
    defer { close(directory) }
    let file = openat(directory, "settings.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      return errno == ENOENT ? .absent : .untrusted(problem: unreadable(settingsFile))
    }
    defer { close(file) }
    for (descriptor, path) in [(directory, folder), (file, settingsFile)] {
      if let problem = Self.ownershipProblem(descriptor, path) {
        return .untrusted(problem: "\(problem); or name another database with \(Setting.databaseURL.variable)")
      }
    }
    var bytes = [UInt8](repeating: 0, count: 65536)
    let count = max(0, read(file, &bytes, bytes.count))
    guard let settings = try? JSONCoding.decode([String: String].self, from: bytes.prefix(count)) else {
      return .untrusted(problem: "\(settingsFile) does not hold settings; start the hub again: pushcart demo")
    }
    return state(with: settings)
  }

  /// The file's owner alone proves nothing: a file from a checkout or an archive belongs to whoever unpacked it. A socket cannot
  /// come that way, and no other user can put one into a directory of this user or of its PostgreSQL.
  private func state(with settings: [String: String]) -> State {
    let untrusted = State.untrusted(
      problem:
        "\(settingsFile) names a database that is not a private PostgreSQL of this user, so it is not trusted; remove "
        + "it, or name another database with \(Setting.databaseURL.variable)")
    let database = PoolConfiguration(connectionString: settings[Setting.databaseURL.name] ?? "")
    guard let socket = database.socket else { return untrusted }
    var (directory, file) = (stat(), stat())
    guard lstat(socket.directory, &directory) == 0 else { return errno == ENOENT ? .stopped : untrusted }
    let owners = [geteuid(), PrivateCluster.serverUserID]
    guard directory.st_mode & S_IFMT == S_IFDIR, directory.st_mode & 0o022 == 0, owners.contains(directory.st_uid)
    else {
      return untrusted
    }
    // PostgreSQL removes its socket when it stops.
    guard lstat(socket.path, &file) == 0 else { return errno == ENOENT ? .stopped : untrusted }
    guard file.st_mode & S_IFMT == S_IFSOCK, owners.contains(file.st_uid) else { return untrusted }
    return .running(settings: settings)
  }

  private func unreadable(_ path: String) -> String {
    "\(path) cannot be read by this user; run the command as the user that started the hub, or name another database with "
      + Setting.databaseURL.variable
  }

  /// Why an open file or folder could hold what another user wrote, with the remedy; nil if it could not.
  private static func ownershipProblem(_ descriptor: Int32, _ path: String) -> String? {
    var (opened, named) = (stat(), stat())
    guard fstat(descriptor, &opened) == 0, lstat(path, &named) == 0 else { return "\(path) cannot be examined" }
    // The link itself decides which folder is used, so its owner counts too.
    guard [opened.st_uid, named.st_uid].allSatisfy({ [0, geteuid()].contains($0) }) else {
      return "\(path) belongs to another user, so it is not trusted; run the command as that user"
    }
    guard opened.st_mode & 0o022 == 0 else {
      return "\(path) can be changed by other users, so it is not trusted; run chmod go-w '\(path)'"
    }
    return nil
  }

  /// Makes the folder if it is missing.
  /// - Throws: `CommandFailure` when other users could change what is in it.
  func makeFolder() throws {
    let parent = URL(filePath: folder).deletingLastPathComponent().path
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw CommandFailure("\(folder) cannot be made: \(String(cString: strerror(errno)))")
    }
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw CommandFailure("\(folder) is not a folder that this user can read.") }
    defer { close(directory) }
    if let problem = Self.ownershipProblem(directory, folder) {
      throw CommandFailure("\(problem); or choose another folder with --folder.")
    }
  }

  /// The contents of a file that only its owner can read. `make` makes them if the file is missing.
  func secret(_ file: String, make: () throws -> String) throws -> String {
    if let data = FileManager.default.contents(atPath: file) { return String(decoding: data, as: UTF8.self) }
    let text = try make()
    try keep(text, in: file)
    return text
  }

  /// Writes a file that only its owner can read, as a whole or not at all.
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
