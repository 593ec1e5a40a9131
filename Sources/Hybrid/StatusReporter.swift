import Retrying
import Delivery
import Foundation
public import Logging
public import Postgres
import Providers
public import ServiceLifecycle
import Locking
public import Wire

/// Tells customers what became of their messages.
///
/// It posts each status to the address of its app, in the form of CM's status reports. It goes on until the answer is 200 to 299, for 7 days
/// at most.
///
/// Reports are committed together with the statuses. A hub that begins one moves its next attempt a minute ahead. If it is killed, another
/// posts it then: a report can come twice, and none is lost.
public struct StatusReporter: Service {
  /// Posts JSON to an address. Returns nil if it was taken; else why not, as in `Verdict.noPlace` and `noAnswer` if nothing was tried.
  public typealias Post = @Sendable (_ json: [UInt8], _ to: PushEndpoint, _ of: CustomerID) async -> String?

  /// Addresses that are posted to at the same time; each gets 16 reports at a time.
  private static let addressesAtOnce = 64

  private let database: any Querying
  private let post: Post
  private let interval: Duration
  private let timeLimit: Duration
  private let logger: Logger
  private let underWay = AppsUnderWay(limit: addressesAtOnce)

  /// - Parameters:
  ///   - interval: how often it looks for reports that are due.
  ///   - timeLimit: how long a post may take; less than a minute, since another hub may post the report then.
  ///   - post: ends when its task is cancelled.
  public init(
    _ database: any Querying, interval: Duration = .seconds(1), timeLimit: Duration = .seconds(30), logger: Logger,
    post: @escaping Post
  ) {
    self.database = database
    self.interval = interval
    self.timeLimit = timeLimit
    self.logger = logger
    self.post = post
  }

  /// Posts reports until graceful shutdown or cancellation. Those under way are given up then, and posted again later.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        try? await withThrowingDiscardingTaskGroup { posts in
          repeat { _ = try? await self.begin(&posts) } while (try? await Task.sleep(for: self.interval)) != nil
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Deletes a customer's reports that are 7 days old.
  public static func forgetExpired(_ customer: CustomerID, in database: any Querying) async throws {
    try await HybridReports(database).deleteExpired(customer)
  }

  /// Posts what is due now, and waits for the answers.
  /// - Returns: to how many addresses.
  @discardableResult
  public func postDue() async throws -> Int {
    try await withThrowingDiscardingTaskGroup { try await begin(&$0) }
  }

  /// Begins to post what is due, to each address by itself, so that one that does not answer delays no other. Of more addresses than may
  /// be posted to at once, some are chosen at random.
  /// - Returns: to how many addresses.
  private func begin(_ posts: inout ThrowingDiscardingTaskGroup<any Error>) async throws -> Int {
    var count = 0
    for address in try await HybridReports(database).due().shuffled() where underWay.begin(address.app) {
      count += 1
      posts.addTask {
        defer { self.underWay.end(address.app) }
        while await self.postSome(to: address), !Task.isCancelled {}
      }
    }
    return count
  }

  /// Posts up to 16 reports: a customer has 128 places at such addresses, and the others are to find some free.
  /// - Returns: whether any was taken, so that further ones can be.
  private func postSome(to address: StatusAddress) async -> Bool {
    let reports = HybridReports(database)
    let begun: [HybridReport]
    do { begun = try await reports.begin(address) } catch {
      logger.warning("could not begin status reports, trying again", metadata: ["error": "\(error)"])
      return false
    }
    return await withTaskGroup(of: Bool.self) { posts in
      for report in begun { posts.addTask { await self.post(report, to: address, reports) } }
      return await posts.reduce(false) { $0 || $1 }
    }
  }

  /// - Returns: whether it was taken.
  private func post(_ report: HybridReport, to address: StatusAddress, _ reports: HybridReports) async -> Bool {
    let customer = address.app.customer
    var problem: String?
    do throws(JSONProblem) {
      problem = await inTime(Self.json(report), try PushEndpoint(url: address.url), customer)
    } catch {
      problem = "its address \(error.problem)"
    }
    do {
      guard let problem else {
        try await reports.end(report, of: customer)
        return true
      }
      // Where the customer has no place now, or its address has answered none for long, it was not asked.
      let delay =
        problem == Verdict.noPlace || problem == Verdict.noAnswer
        ? RetryPolicy.statusReportsWithoutPlace : RetryPolicy.statusReports.delay(after: report.attempts)
      try await reports.postpone(report, of: customer, for: delay)
      logger.info(
        "status report not taken, posted again later",
        metadata: [
          "customer": "\(customer)", "app": "\(address.app.appID)", "reason": "\(problem)",
          "attempts": "\(report.attempts)",
        ])
    } catch {
      logger.warning(
        "could not record what came of a status report, it is posted again", metadata: ["error": "\(error)"])
    }
    return false
  }

  /// Posts within the time limit.
  private func inTime(_ json: [UInt8], _ endpoint: PushEndpoint, _ customer: CustomerID) async -> String? {
    await withTaskGroup(of: String?.self) { group in
      group.addTask { await self.post(json, endpoint, customer) }
      group.addTask {
        try? await Task.sleep(for: self.timeLimit)
        return "no answer in time"
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  /// CM's status report. Reasons of providers begin with their code, as in `23 bad number`.
  static func json(_ report: HybridReport) -> [UInt8] {
    let reason = report.reason ?? ""
    let digits = reason.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let hasCode = !digits.isEmpty && [nil, UInt8(ascii: " ")].contains(reason.utf8.dropFirst(digits.count).first)
    let code = hasCode ? String(decoding: digits, as: UTF8.self) : ""
    let words = hasCode ? String(decoding: reason.utf8.dropFirst(digits.count + 1), as: UTF8.self) : reason
    let value: JSONValue = [
      "messages": [
        "msg": [
          "received": .string(report.at.formatted(.iso8601)), "to": .string(report.number.international),
          "reference": .string(report.reference ?? ""),
          "status": [
            "code": .string("\(Self.code(of: report.status))"), "errorCode": .string(code),
            "errorDescription": .string(words.isEmpty ? report.status : words),
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

/// The apps whose reports this hub posts now.
private final class AppsUnderWay: Sendable {
  private let apps = Mutex<Set<StatusAddress.App>>([])
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// - Returns: false if it is under way, or too many are.
  func begin(_ app: StatusAddress.App) -> Bool { apps.withLock { $0.count < limit && $0.insert(app).inserted } }

  func end(_ app: StatusAddress.App) { apps.withLock { _ = $0.remove(app) } }
}
