import Foundation
import PackagePlugin

/// Has EmbedTool write sql/, Templates/ and names of crawlers into Swift source whenever one of their files changes, comes or goes.
@main
struct EmbedPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
    let folders = ["sql/migrations", "sql/reports", "Templates", "Templates/console", "Templates/pages"].map {
      context.package.directoryURL.appending(path: $0)
    }
    let files = folders.flatMap { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
      return names.sorted().map { folder.appending(path: $0) }.filter { !$0.isFolder }
    }
    // Of Debian's package uap-core; without it, the hub knows fewer machines.
    let uap = "/usr/share/uap-core/regexes.yaml"
    let list = FileManager.default.fileExists(atPath: uap) ? [URL(filePath: uap)] : []
    return [
      .buildCommand(
        displayName: "Embedding sql and Templates", executable: try context.tool(named: "EmbedTool").url,
        arguments: ([output] + folders).map { $0.path(percentEncoded: false) } + [uap], inputFiles: files + list,
        outputFiles: [output])
    ]
  }
}

extension URL {
  fileprivate var isFolder: Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: path(percentEncoded: false))) != nil
  }
}
