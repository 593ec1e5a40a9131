public import Content
public import FoundationEssentials
public import Logging
public import Postgres
public import Providers

/// Works through the ledger of one sendout after another: claims its batches, sends their pushes, settles the outcomes.
///
/// What makes it safe to stop at any moment is the order of things: the claim of a batch is committed before the first byte of
/// it leaves, and an outcome is committed when it is known. Whatever stands between, in a claimed batch whose lease has run
/// out, may have left or not, and the sendout's policy decides. A commit for each push would say the same at a thousand times
/// the price.
public struct Dispatcher: Sendable {
  let database: any Querying
  let apns: APNsProvider
  let links: PublicLinks
  let settings: DispatchSettings
  let logger: Logger
  let now: @Sendable () -> Date
  let random: @Sendable () -> Double

  /// - Parameters:
  ///   - now: the clock by which pushes are dated and given up.
  ///   - random: 0 to 1, for back-off.
  public init(
    _ database: any Querying, apns: APNsProvider, links: PublicLinks, settings: DispatchSettings = DispatchSettings(),
    logger: Logger, now: @escaping @Sendable () -> Date = { Date() },
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    self.database = database
    self.apns = apns
    self.links = links
    self.settings = settings
    self.logger = logger
    self.now = now
    self.random = random
  }

  /// Sends what can be claimed of a sendout now, and returns when all that this hub has claimed is settled and released.
  ///
  /// Told to stop, it claims and hands over no more, and waits for what is on its way. When its task is cancelled it drops
  /// everything, as a killed hub does, and leaves it to the leases.
  public func dispatch(_ order: SendoutOrder, stop: StopSignal = StopSignal()) async -> DispatchEnd {
    await Dispatch(self, order).run(until: stop)
  }
}
