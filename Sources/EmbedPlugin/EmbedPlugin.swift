import Foundation
import PackagePlugin

/// Has EmbedTool write sql/, Templates/ and names of crawlers into Swift source whenever one of their files changes, comes or goes.
@main
struct EmbedPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
    let folders = Self.folders.map { (name: $0.key, url: context.package.directoryURL.appending(path: $0.value)) }
    let files = folders.map(\.url).flatMap { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
      return names.sorted().map { folder.appending(path: $0) }.filter { !$0.isFolder }
    }
    // Of Debian's package uap-core; without it, the hub knows fewer machines.
    let uap = "/usr/share/uap-core/regexes.yaml"
    let list = FileManager.default.fileExists(atPath: uap) ? [URL(filePath: uap)] : []
    return [
      .buildCommand(
        displayName: "Embedding sql and Templates", executable: try context.tool(named: "EmbedTool").url,
        arguments: [output.path(percentEncoded: false), uap]
          + folders.map { "\($0.name)=\($0.url.path(percentEncoded: false))" }, inputFiles: files + list,
        outputFiles: [output])
    ]
  }

  /// What is embedded, by the name that `EmbeddedFile` has for it.
  private static let folders: KeyValuePairs = [
    "migrations": "sql/migrations", "reports": "sql/reports", "templates": "Templates", "console": "Templates/console",
    "pages": "Templates/pages", "reference": "Templates/reference", "simulator": "Templates/simulator",
  ]
}

extension URL {
  fileprivate var isFolder: Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: path(percentEncoded: false))) != nil
  }
}
