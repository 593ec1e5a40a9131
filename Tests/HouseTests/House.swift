import Foundation

/// The rooms of ARCHITECTURE.md as a table: which room may import which, and where its files are.
enum House {
  /// Rooms from cellar to roof, each with the rooms that it may import.
  static let mayImport: KeyValuePairs<String, Set<String>> = [
    "CLibpq": [],
    "CNghttp2": [],
    "CMaxMindDB": [],
    "CLibXML2": [],
    "CZlib": [],
    "Wire": [],
    "Locking": [],
    "Retrying": [],
    "XML": ["CLibXML2", "Wire"],
    "Embedded": ["Wire"],
    "Postgres": ["CLibpq", "Locking", "Retrying"],
    "Registry": ["Postgres", "Wire", "Locking"],
    "Content": ["Postgres", "Wire", "Locking"],
    "Providers": ["CNghttp2", "Wire", "Locking", "Retrying", "XML"],
    "Delivery": ["Registry", "Providers", "Content", "Postgres", "Wire", "Locking", "Retrying"],
    "Outbox": ["Registry", "Providers", "Postgres", "Wire", "Locking", "Retrying"],
    "Audience": ["Registry", "Delivery", "Postgres", "Wire", "Locking", "Retrying"],
    "Sendouts": ["Registry", "Content", "Delivery", "Outbox", "Audience", "Postgres", "Wire", "Locking", "Retrying"],
    "Hybrid": [
      "Registry", "Content", "Providers", "Delivery", "Outbox", "Sendouts", "Postgres", "Wire", "Locking", "Retrying",
    ],
    "Subscriptions": ["Registry", "Delivery", "Outbox", "Postgres", "Wire", "Locking", "Retrying"],
    "DataInOut": ["CZlib", "Registry", "Outbox", "Audience", "Postgres", "Wire", "Locking", "Retrying"],
    "Operations": [
      "Registry", "Content", "Delivery", "Outbox", "Audience", "Sendouts", "Hybrid", "Subscriptions", "DataInOut",
      "Wire", "Retrying",
    ],
    "Web": [
      "CMaxMindDB", "Embedded", "Registry", "Content", "Delivery", "Sendouts", "Hybrid", "Subscriptions", "DataInOut",
      "Operations", "Wire", "Locking", "XML",
    ],
    "Simulator": ["Embedded", "Wire", "Locking", "XML"],
    "PushcartClient": ["Wire"],
    "Pushcart": [
      "Postgres", "Wire", "Locking", "Embedded", "Registry", "Content", "Providers", "Delivery", "Audience", "Outbox",
      "Sendouts", "Hybrid", "Subscriptions", "DataInOut", "Operations", "Web", "Simulator",
    ],
  ]
  /// Headers of C libraries, without a file of Swift.
  static let systemLibraries: Set<String> = ["CLibpq", "CNghttp2", "CMaxMindDB", "CLibXML2", "CZlib"]
  static let rooms = mayImport.map(\.key)
  /// Targets that build the rooms and are none themselves.
  static let workshop: Set<String> = ["EmbedPlugin", "EmbedTool"]

  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Swift files below a folder of the repository.
  static func swiftFiles(in folder: String) -> [URL] {
    let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
    return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
  }

  /// Names of the modules that a file imports.
  static func imports(of file: URL) throws -> Set<String> {
    let line =
      #/(?:@\w+\s+)*(?:public |package |internal |fileprivate |private )?import (?:struct |enum |class |func )?(\w+).*/#
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    return Set(lines.compactMap { $0.wholeMatch(of: line).map { String($0.1) } })
  }
}
