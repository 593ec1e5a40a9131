import Logging
import NIOHTTP1

/// Owners of simulated phones who open the pages of some pushes, as people do.
public struct PhoneOpens: Sendable {
  /// Of a hundred pushes with a page.
  public var percent: Int
  /// How addresses begin that are opened: a push may lead to somebody's website.
  public var prefix: String
  /// The longest time until one opens a page.
  public var within: Duration

  public init(percent: Int, prefix: String, within: Duration = .seconds(8)) {
    self.percent = percent
    self.prefix = prefix
    self.within = within
  }

  /// What phones say that they are.
  private static let agent = """
    Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 \
    Safari/604.1
    """

  /// Opens pages of the pushes that come, until it is cancelled. One that cannot be opened is logged.
  func run(_ pushes: AsyncStream<PhoneEntry>, logger: Logger) async {
    await withDiscardingTaskGroup { group in
      for await entry in pushes {
        guard Int.random(in: 0..<100) < percent, let url = entry.push.url, url.hasPrefix(prefix) else { continue }
        group.addTask {
          do {
            try await Task.sleep(for: within * Double.random(in: 0...1))
            _ = try await PlainHTTP.send(.GET, url, headers: [("user-agent", Self.agent)])
          } catch is CancellationError {
          } catch {
            logger.warning("could not open the page of a push", metadata: ["error": "\(error)"])
          }
        }
      }
      group.cancelAll()
    }
  }
}
