import ArgumentParser
import Wire

/// When a sendout goes, how often it may reach somebody, and which of several messages each contact gets.
///
/// An option is called as the API's field, and one of an object by both names: `--repeat-on` is `repeat.on`.
struct CampaignOptions: ParsableArguments {
  @Option(help: "Moment at which it starts, as in 2026-12-24T17:30:00Z.") var startAt: Timestamp?
  @Option(help: "Day and time at which each contact gets it by their own clock, as in 2026-12-24T18:30.")
  var localTime: WallTime?
  @Option(
    help: """
      For contacts in whose zone the local time is over when it is scheduled: skip leaves them out, now sends at the start, nextDay a day \
      later. (default: skip)
      """)
  var onMissed: MissedPolicy?
  @Option(
    help: """
      How many minutes late a push may leave because hubs or the database were away. (default: \(CampaignFields.usualLateMinutes))
      """)
  var lateMinutes: Int?
  @Option(help: "Moment after which nothing leaves, as in 2026-12-24T20:00:00Z.") var endAt: Timestamp?
  @Option(help: "It repeats: each day, week or month.") var repeatEvery: RepetitionUnit?
  @Option(
    parsing: .upToNextOption,
    help: "Days on which it repeats, as in mon thu, or 1 15 31 of the month. (default: that of the first time)")
  var repeatOn: [RepetitionDay] = []
  @Option(help: "The last day on which it repeats, as in 2027-06-30.") var repeatUntil: CalendarDay?
  @Option(help: "Spreads the pushes evenly over so many minutes.") var spreadMinutes: Int?
  @Option(help: "The most pushes that leave in a second.") var ratePerSecond: Int?
  @Option(
    help: "Quiet hours in place of the customer's, as in 21:00-08:00, or 21:00-08:00/skip to send nothing.",
    transform: { try QuietHours(option: $0) })
  var quietHours: QuietHours?
  @Flag(help: "No quiet hours at all.") var noQuietHours = false
  @Flag(help: "Reach also contacts whom caps would leave out.") var ignoreCaps = false
  @Option(
    help: ArgumentHelp(
      "JSON file of variants, an array with name, share and message each; see MessageVariant of the API.",
      valueName: "file"))
  var variants: String?
  @Option(help: "Minutes after which the rest of the contacts gets the best variant.") var winnerAfterMinutes: Int?
  @Option(help: "What the rest gets if no variant wins: best, hold for a person, or stop. (default: hold)")
  var winnerUndecided: UndecidedPolicy?
  @Option(help: "Percent of the contacts that get nothing, to compare with.") var holdoutPercent: Int?
  @Option(
    help: """
      It pauses when this share of the last 1,000 outcomes are failures, as in 0.3; 1 for never. \
      (default: \(CampaignFields.usualPauseAtFailed))
      """)
  var pauseAtFailed: Double?

  func validate() throws {
    if noQuietHours, quietHours != nil {
      throw ValidationError("--quiet-hours and --no-quiet-hours exclude each other.")
    }
    if repeatEvery == nil, !repeatOn.isEmpty || repeatUntil != nil {
      throw ValidationError("--repeat-on and --repeat-until belong to --repeat-every.")
    }
    if repeatEvery != nil, startAt == nil, localTime == nil {
      throw ValidationError("--repeat-every needs --start-at or --local-time, which says when the first time is.")
    }
    if winnerAfterMinutes == nil, winnerUndecided != nil {
      throw ValidationError("--winner-undecided belongs to --winner-after-minutes.")
    }
    if winnerAfterMinutes != nil, variants == nil {
      throw ValidationError("--winner-after-minutes needs --variants, of which one can win.")
    }
    // With a file it is checked once that is read.
    guard variants == nil else { return }
    do {
      _ = try fields
    } catch let failure as CommandFailure {
      throw ValidationError(failure.description)
    }
  }

  /// - Throws: `CommandFailure` for what the API refuses of a field or of several, and for a file that cannot be read.
  var fields: CampaignFields {
    get throws {
      let given = CampaignFields(
        startAt: startAt, localTime: localTime, endAt: endAt, onMissed: onMissed, lateMinutes: lateMinutes,
        repeat: repeatEvery.map { Repetition(every: $0, on: repeatOn.isEmpty ? nil : repeatOn, until: repeatUntil) },
        spreadMinutes: spreadMinutes, ratePerSecond: ratePerSecond,
        quietHours: noQuietHours ? .lifted : quietHours.map { .set($0) }, ignoreCaps: ignoreCaps ? true : nil,
        variants: try variants.map { try InputFile($0).json(of: "variants") },
        winner: winnerAfterMinutes.map { WinnerRule(afterMinutes: $0, undecided: winnerUndecided) },
        holdoutPercent: holdoutPercent, pauseAtFailed: pauseAtFailed)
      do {
        return try CampaignFields.schema.decode(from: JSONCoding.encode(given))
      } catch let problem as JSONProblem {
        throw CommandFailure(OptionNames(of: Self.self).naming("\(problem.path) \(problem.problem)."))
      }
    }
  }
}
