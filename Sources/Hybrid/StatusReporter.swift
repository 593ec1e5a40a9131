import Delivery
import Foundation
public import Logging
public import Postgres
public import ServiceLifecycle
public import Wire

/// Tells customers what became of their messages: posts each status to the address of its app, in the form of CM's status reports, until it
/// is answered with 200 to 299, for 7 days at most.
///
/// Reports are committed together with the statuses. A hub that begins one moves its next attempt a minute ahead. If it is killed, another
/// posts it then: a report can come twice, and none is lost.
public struct StatusReporter: Service {
  /// Posts JSON to an address. Returns nil if it was taken; else why not.
  public typealias Post = @Sendable (_ json: [UInt8], _ to: PushEndpoint, _ of: CustomerID) async -> String?

  private let database: any Querying
  private let post: Post
  private let interval: Duration
  private let logger: Logger

  /// - Parameter interval: how often it looks for reports that are due.
  public init(_ database: any Querying, interval: Duration = .seconds(1), logger: Logger, post: @escaping Post) {
    self.database = database
    self.interval = interval
    self.logger = logger
    self.post = post
  }

  /// Posts reports until graceful shutdown or cancellation; those under way end first.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        repeat {
          while (try? await self.postDue()) ?? 0 > 0, !Task.isCancelled {}
        } while (try? await Task.sleep(for: self.interval)) != nil
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Posts what is due now, some of each customer.
  /// - Returns: how many reports were begun.
  @discardableResult
  public func postDue() async throws -> Int {
    let reports = HybridReports(database)
    return try await withThrowingTaskGroup(of: Int.self) { group in
      for customer in try await reports.due() {
        group.addTask {
          let begun = try await reports.begin(customer)
          await withDiscardingTaskGroup { posts in
            for report in begun { posts.addTask { await self.post(report, of: customer, reports) } }
          }
          return begun.count
        }
      }
      return try await group.reduce(0, +)
    }
  }

  private func post(_ report: HybridReport, of customer: CustomerID, _ reports: HybridReports) async {
    var problem: String?
    do throws(JSONProblem) {
      problem = await post(Self.json(report), try PushEndpoint(url: report.url), customer)
    } catch {
      problem = "its address \(error.problem)"
    }
    do {
      guard let problem else { return try await reports.end(report, of: customer) }
      let delay = Self.delay(after: report.attempts) * Double.random(in: 0.5...1)
      try await reports.postpone(report, of: customer, for: delay)
      logger.info(
        "status report not taken, posted again later",
        metadata: [
          "customer": "\(customer)", "app": "\(report.appID)", "reason": "\(problem)", "attempts": "\(report.attempts)",
        ])
    } catch {
      logger.warning(
        "could not record what came of a status report, it is posted again", metadata: ["error": "\(error)"])
    }
  }

  /// Half a minute, doubled with each attempt up to six hours.
  static func delay(after attempts: Int) -> Duration { .seconds(min(30 << min(attempts - 1, 10), 6 * 3600)) }

  /// CM's status report.
  static func json(_ report: HybridReport) -> [UInt8] {
    let value: JSONValue = [
      "messages": [
        "msg": [
          "received": .string(report.at.formatted(.iso8601)), "to": .string(report.number.international),
          "reference": .string(report.reference ?? ""),
          "status": [
            "code": .string("\(code(of: report.status))"), "errorCode": "", "errorDescription": .string(report.status),
          ], "operator": "",
        ]
      ]
    ]
    return Array(value.json)
  }

  /// 0 accepted, 1 rejected, 2 delivered, 3 failed, 4 read. A withdrawn message failed.
  private static func code(of status: String) -> Int {
    ["Accepted": 0, "Rejected": 1, "Delivered": 2, "Read": 4][status] ?? 3
  }
}
