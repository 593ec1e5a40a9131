import Crypto
import Embedded
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// Style sheet, script and icon. Their addresses have a hash of what they hold, so that browsers keep them for a year.
struct ConsoleAssets: RouteSet {
  private struct Asset: Sendable {
    let bytes: ByteBuffer
    let type: String
    let hash: String
  }

  static let shared = ConsoleAssets()
  private let assets: [String: Asset]

  private init() {
    var assets: [String: Asset] = [:]
    for file in EmbeddedFile.console {
      guard let type = file.contentType else { continue }
      let hash = Base64URL.text(Array(SHA256.hash(data: Data(file.text.utf8)).prefix(9)))
      assets[file.name] = Asset(bytes: ByteBuffer(string: file.text), type: type, hash: hash)
    }
    self.assets = assets
  }

  /// As in `/console/assets/console.css?v=…`.
  func path(of name: String) -> String { "/console/assets/\(name)?v=\(assets[name]?.hash ?? "")" }

  func addRoutes(to routes: RouteTable) {
    for (name, asset) in assets.sorted(by: { $0.key < $1.key }) {
      routes.add(.get, RouterPath("/console/assets/\(name)"), bound: .noKey) { request, _ in
        let isExact = request.uri.queryParameters["v"].map { $0.hasSameBytes(as: asset.hash) } == true
        return Response(
          status: .ok,
          headers: [
            .contentType: asset.type, .xContentTypeOptions: "nosniff",
            .cacheControl: isExact ? "public, max-age=31536000, immutable" : "no-cache",
          ], body: ResponseBody(byteBuffer: asset.bytes))
      }
    }
  }
}

extension HTMLTemplates {
  /// Of the console's pages.
  static let console = HTMLTemplates(EmbeddedFile.console)
}
