import ArgumentParser
import Operations
import Wire

extension SendoutCommand {
  struct Schedule: SendoutVerbCommand {
    static let operation = SendoutOperations.schedule
    static let configuration = CommandConfiguration(
      abstract: "Let a draft start by itself, at the time that it says.",
      discussion: "Example: pushcart sendout schedule 7 --customer 1 --maximum-contacts 50000")
    @OptionGroup var named: SendoutOptions
    @OptionGroup var conditions: StartOptions
    @Option(help: "A draft without a time starts in so many seconds; until then, unschedule takes it back.")
    var inSeconds: Int?

    func validate() throws {
      if let inSeconds, !(1...3600).contains(inSeconds) { throw ValidationError("--in-seconds must be 1 to 3600.") }
    }

    var body: SendoutStart {
      SendoutStart(digest: conditions.digest, maximumContacts: conditions.maximumContacts, inSeconds: inSeconds)
    }
  }

  struct Unschedule: SendoutVerbCommand {
    static let operation = SendoutOperations.unschedule
    static let configuration = CommandConfiguration(
      abstract: "Make a draft of a scheduled sendout again.",
      discussion: "Example: pushcart sendout unschedule 7 --customer 1")
    @OptionGroup var named: SendoutOptions
  }

  struct SeriesEnd: OperationCommand {
    static let operation = SendoutOperations.endSeries
    static let configuration = CommandConfiguration(
      commandName: "series-end", abstract: "End a series: no further sendout of it is made.",
      discussion: """
        The sendout of it that is scheduled is cancelled.

        Example: pushcart sendout series-end 3 --customer 1
        """)
    @Argument(help: "Number of the series.") var series: SeriesID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: SeriesID { series }

    func text(_ end: Wire.SeriesEnd) -> String {
      let cancelled = end.cancelledSendoutIds.map(\.description).asList()
      return "Series \(end.seriesId) has ended." + (cancelled.isEmpty ? "\n" : " Cancelled: sendout \(cancelled).\n")
    }
  }
}

/// What has to hold for a sendout to start.
struct StartOptions: ParsableArguments {
  @Option(help: "The draft's digest when somebody looked at it. If it says anything else by now, it is not started.")
  var digest: String?
  @Option(help: "With more contacts left when its audience is fixed, it pauses.") var maximumContacts: Int?

  func validate() throws {
    if let maximumContacts, maximumContacts < 1 || maximumContacts > Int(Int32.max) {
      throw ValidationError("--maximum-contacts must be 1 to \(Int32.max).")
    }
  }

  var body: SendoutStart { SendoutStart(digest: digest, maximumContacts: maximumContacts) }
}
